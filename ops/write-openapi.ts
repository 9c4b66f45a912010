/**
 * `npm run openapi`: writes the OpenAPI document of the route table to `ops/openapi.json`, the AsyncAPI document of the
 * events on sockets to `ops/asyncapi.json`, and to `ops/client` what the typed client and the console make of both.
 * With `--check` it writes nothing, and fails when a file differs.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { routeGroups } from '#api/app/routes.ts';
import { describeRoutes } from '#api/http/openapi/describe-routes.ts';
import { describeEvents } from '#api/realtime/describe-events.ts';
import { clientFiles } from './tools/client-types.ts';

const rest = describeRoutes(routeGroups);
const events = describeEvents();
const files = {
  'openapi.json': json(rest),
  'asyncapi.json': json(events),
  ...Object.fromEntries(
    Object.entries(await clientFiles(rest, events)).map(([name, text]) => [`client/${name}`, text]),
  ),
};
const check = process.argv.includes('--check');
for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, import.meta.url);
  if (!check) await writeFile(file, text);
  else if ((await readFile(file, 'utf8')) !== text) {
    console.error(`ops/${name} is not what the routes and events say: npm run openapi writes it`);
    process.exitCode = 1;
  }
}

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
