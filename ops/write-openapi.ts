/**
 * `npm run openapi`: writes the OpenAPI document of the route table to `ops/openapi.json`, the types that clients make of it, and the
 * AsyncAPI document of the events on sockets.
 */
import { writeFile } from 'node:fs/promises';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { describeEvents } from '#api/realtime/describe-events.ts';
import { routeGroups } from '#api/resources/index.ts';
import { clientTypes } from './tools/client-types.ts';

const rest = describeRoutes(routeGroups);
await writeJSON('openapi.json', rest);
await writeJSON('asyncapi.json', describeEvents());
await write('client/rest.ts', await clientTypes(rest));

function writeJSON(name: string, document: object): Promise<void> {
  return write(name, `${JSON.stringify(document, null, 2)}\n`);
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(new URL(name, import.meta.url), text);
}
