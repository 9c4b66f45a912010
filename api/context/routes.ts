import { routesFor } from '../http/route/define-routes.ts';
import type { Route } from '../http/route/route.ts';
import type { ApiContext } from './context.ts';

export type ApiRoute = Route<ApiContext>;

export const { tenantRoute, userRoute, operatorRoute, publicRoute } = routesFor<ApiContext>();
