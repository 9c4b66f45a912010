import '../settings/areas.css';
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useMay } from '../client/may.ts';
import { type Area, areas } from '../settings/areas.ts';

/** The way between the pages of the settings, and the page. */
export function SettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings' });
  const may = useMay();
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another area is another place in the line, which a telephone cuts
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [pathname]);
  return (
    <>
      <nav aria-label="Settings" className="areas" ref={nav}>
        {areas
          .filter(({ needs }: Area) => may(needs))
          .map(({ to, title }) => (
            <Link
              key={to}
              className="nav"
              to={to}
              params={{ tenantID }}
              activeOptions={{ includeSearch: false, exact: true }}
            >
              {title}
            </Link>
          ))}
      </nav>
      <Outlet />
    </>
  );
}
