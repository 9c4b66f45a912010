import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { shownPagesRead } from '../client/app-pages.ts';
import { Icon } from '../ui/icon.tsx';

/** Pages of the tenant by their titles, for viewers, who open little else. */
export function OwnPages({ tenantID }: { tenantID: string }) {
  const { data = [] } = useQuery(shownPagesRead(tenantID));
  return data.map(({ appPageID, appPageTitle }) => (
    <Link
      key={appPageID}
      className="nav own-page"
      title={appPageTitle}
      to="/t/$tenantID/pages/$appPageID"
      params={{ tenantID, appPageID }}
    >
      <Icon name="grid" /> <span>{appPageTitle}</span>
    </Link>
  ));
}
