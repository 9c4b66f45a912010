import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeRoutes } from '#api/http/openapi.ts';
import { routeGroups } from '#api/resources/index.ts';

test('the document in the repository is the one the routes give ("npm run openapi" writes it)', async () => {
  const written = JSON.parse(await readFile(new URL('../../ops/openapi.json', import.meta.url), 'utf8'));

  expect(written).toEqual(JSON.parse(JSON.stringify(describeRoutes(routeGroups))));
});
