import type { Route } from '../http/route.ts';
import { accountRoutes } from './account/routes.ts';
import { apiKeyRoutes } from './api-keys/routes.ts';
import { databaseRoutes } from './database/routes.ts';
import { datasourceFileRoutes } from './datasource-files/routes.ts';
import { datasourceRoutes } from './datasources/routes.ts';
import { oauthRoutes } from './oauth/routes.ts';
import { oauthConnectionRoutes } from './oauth-connections/routes.ts';
import { operatorRoutes } from './operator/routes.ts';
import { dataQueryRoutes } from './queries/routes.ts';
import { operatorRoleRoutes } from './roles/operator-routes.ts';
import { roleRoutes } from './roles/routes.ts';
import { tenantRoutes } from './tenants/routes.ts';
import { operatorUserRoutes } from './users/operator-routes.ts';
import { userRoutes } from './users/routes.ts';
import { workflowRoutes } from './workflows/routes.ts';

/** Every route of the service, in the order of the contract. */
export const routes: readonly Route[] = [
  ...accountRoutes,
  ...tenantRoutes,
  ...databaseRoutes,
  ...datasourceFileRoutes,
  ...datasourceRoutes,
  ...dataQueryRoutes,
  ...workflowRoutes,
  ...userRoutes,
  ...roleRoutes,
  ...apiKeyRoutes,
  ...oauthRoutes,
  ...oauthConnectionRoutes,
  ...operatorRoutes,
  ...operatorRoleRoutes,
  ...operatorUserRoutes,
];
