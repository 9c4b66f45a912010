/** `npm run openapi`: writes the OpenAPI document of the route table to `ops/openapi.json`. */
import { writeFile } from 'node:fs/promises';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { routeGroups } from '#api/resources/index.ts';

await writeFile(new URL('openapi.json', import.meta.url), `${JSON.stringify(describeRoutes(routeGroups), null, 2)}\n`);
