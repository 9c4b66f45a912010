import { expect, test } from 'vitest';
import { closest } from '#api/http/request/suggestion.ts';

test.each<[string, string[], string | undefined]>([
  ['parameters', ['sql', 'params', 'readOnly'], 'params'],
  ['role', ['roleIDs'], 'roleIDs'],
  ['name', ['apiKeyDescription', 'apiKeyName'], 'apiKeyName'],
  ['titel', ['title', 'table'], 'title'],
  ['datasourceTitel', ['datasourceType', 'datasourceTitle'], 'datasourceTitle'],
  ['datasourceId', ['datasourceTags', 'datasourceID'], 'datasourceID'],
  ['max_rows', ['maxRows'], 'maxRows'],
  ['pagesize', ['page', 'pageSize'], 'pageSize'],
  ['timeout', ['timeoutSeconds'], 'timeoutSeconds'],
  // No suggestion is better than a wrong one.
  ['sort', ['order'], undefined],
  ['id', ['if', 'is'], undefined],
  ['databaseFoo', ['databaseTableName'], undefined],
  ['x'.repeat(100_000), ['x'.repeat(64)], undefined],
  ['anything', [], undefined],
])('of %s among %s', (written, names, expected) => {
  expect(closest(written, names)).toBe(expected);
});
