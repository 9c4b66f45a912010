/** `npm run openapi`: writes the OpenAPI document of the route table to `ops/openapi.json`, and the AsyncAPI document of the events on sockets. */
import { writeFile } from 'node:fs/promises';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { describeEvents } from '#api/realtime/describe-events.ts';
import { routeGroups } from '#api/resources/index.ts';

await write('openapi.json', describeRoutes(routeGroups));
await write('asyncapi.json', describeEvents());

async function write(name: string, document: object): Promise<void> {
  await writeFile(new URL(name, import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
}
