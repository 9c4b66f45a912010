/** Pages for people on call. The board serves them to operators, whose session is a cookie. */
import { createRootRoute, createRoute, createRouter, RouterProvider, useParams } from '@tanstack/react-router';
import { queries } from '../client/queries.ts';
import { FleetPage } from '../fleet/fleet-page.tsx';
import { FleetShell } from '../fleet/shell.tsx';
import { TenantPage } from '../fleet/tenant-page.tsx';
import { ErrorPage, NotFoundPage } from '../pages/error.tsx';
import { mount } from './mount.tsx';
import '../fleet/fleet.css';

const root = createRootRoute({ component: FleetShell, notFoundComponent: NotFoundPage });
const fleet = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: ({ search }: Record<string, unknown>): { search?: string } =>
    typeof search === 'string' && search !== '' ? { search } : {},
  component: function Fleet() {
    const { search } = fleet.useSearch();
    const navigate = fleet.useNavigate();
    return <FleetPage search={search} onSearch={(text) => void navigate({ search: text ? { search: text } : {} })} />;
  },
});
const tenant = createRoute({
  getParentRoute: () => root,
  path: '/tenants/$tenantID',
  component: function Tenant() {
    const { tenantID = '' } = useParams({ strict: false });
    return <TenantPage tenantID={tenantID} />;
  },
});
// The other entry registers its router's type, by which links are checked; the addresses here are plain.
const router = createRouter({
  routeTree: root.addChildren([fleet, tenant]),
  basepath: '/fleet',
  defaultErrorComponent: ErrorPage,
  scrollRestoration: true,
});

mount(<RouterProvider router={router as never} />, queries);
