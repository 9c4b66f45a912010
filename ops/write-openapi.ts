/**
 * `npm run openapi`: writes the OpenAPI document of the route table to `ops/openapi.json`, the AsyncAPI document of the
 * events on sockets to `ops/asyncapi.json`, and to `ops/client` what the typed client makes of both.
 */
import { writeFile } from 'node:fs/promises';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { describeEvents } from '#api/realtime/describe-events.ts';
import { routeGroups } from '#api/resources/index.ts';
import { clientFiles } from './tools/client-types.ts';

const rest = describeRoutes(routeGroups);
await writeJSON('openapi.json', rest);
const events = describeEvents();
await writeJSON('asyncapi.json', events);
for (const [name, text] of Object.entries(await clientFiles(rest, events))) await write(`client/${name}`, text);

function writeJSON(name: string, document: object): Promise<void> {
  return write(name, `${JSON.stringify(document, null, 2)}\n`);
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(new URL(name, import.meta.url), text);
}
