import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useMay } from '../client/may.ts';
import { type Area, areas } from '../settings/areas.ts';

/** The way between the pages of the settings, and the page. */
export function SettingsPage() {
  const { tenantID } = useParams({ from: '/shell/t/$tenantID/settings' });
  const may = useMay();
  return (
    <>
      <nav aria-label="Settings" className="areas">
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
