/** Fields of a body, each with one of `hostileValues`, which together take as long as possible to check: a route, a place, a value. */
export const hostileFields = [
  ['post /api/v1/tenants/:tenantID/workflows/:workflowID/execute', '.args', 'many keys'],
  ['post /api/v1/tenants/:tenantID/workflows/:workflowID/execute', '.args{}', 'wide objects'],
  ['post /api/v1/tenants/:tenantID/workflows/:workflowID/execute', '.args{}', 'empty objects'],
  ['post /api/v1/tenants/:tenantID/database/execute-raw-sql', '.sql', 'semicolons'],
  ['post /api/v1/auth/config/:tenantID', '.config', 'many keys of objects'],
  ['post /api/v1/auth/config/:tenantID', '.config{}', 'empty lists'],
  ['post /api/v1/tenants/:tenantID/queries', '.dataQueryOptions', 'many keys of templates'],
  ['post /api/v1/tenants/:tenantID/queries', '.dataQueryOptions{}', 'small objects'],
  ['post /api/v1/auth/config/:tenantID', '.config{}', 'long numbers'],
  ['post /api/v1/tenants/:tenantID/workflows', '.nodes', 'empty objects'],
  ['post /api/v1/tenants/:tenantID/workflows', '<condition>.branches', 'small objects'],
  ['post /api/v1/tenants/:tenantID/workflows', '<switch>.cases', 'small objects'],
  ['post /api/v1/tenants/:tenantID/datasources', '<restapi>.headers', 'small objects'],
] as const;

const rowsPath = '/api/v1/tenants/:tenantID/database/schemas/:databaseSchemaName/tables/:databaseTableName/rows';
const padding = 'x'.repeat(900);
/** Nearly as many values as one setting may have. */
const MANY_SETTINGS = 19_000;

/** Bodies of up to five megabytes with very many faults or parts: a route, what the body has, its text. */
export function faultyBodies(): [name: string, fault: string, body: string][] {
  return [
    [`patch ${rowsPath}/delete`, 'a list in a filter', `{"where":{"id":{"in":[${many(String, 700_000)}]}}}`],
    [
      `patch ${rowsPath}/delete`,
      'a list of conditions',
      `{"where":{"OR":[${many((n) => `{"id":{"=":${n}}}`, 250_000)}]}}`,
    ],
    [`post ${rowsPath}`, 'rows that are none', `{"databaseTableRowData":[${many(() => '1', 2_400_000)}]}`],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'nodes of which each is at fault, in several ways',
      `{"title":"x","nodes":[${many((n) => `{"id":"n${n}","type":"condition","config":{"a":"${padding}"}}`, 5_000)}],"edges":[]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'edges between nodes that are not there',
      `{"title":"x","nodes":[{"id":"a","type":"start"}],"edges":[${many((n) => `{"id":"e${n}","source":"s${n}","target":"t${n}","label":"${padding.slice(0, 180)}"}`, 20_000)}]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'as many conditions as a step may have values',
      `{"title":"x","nodes":[{"id":"s","type":"start"},{"id":"c","type":"condition","data":{"branches":[{"id":"b","conditions":[${many((n) => `{"leftValue":"{{ctx.a${n}}}","operator":"equals","rightValue":1}`, MANY_SETTINGS / 4)}]}]}}],"edges":[]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows',
      'as many nodes and values as a graph may have',
      `{"title":"x","draft":true,"nodes":[${many((n) => `{"id":"n${n}","type":"end","data":{"output":{${many((k) => `"k${k}":"{{ctx.a}}"`, 45)}}}}`, 4_900)}],"edges":[]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/queries',
      'as many templates as a query may have values',
      `{"dataQueryTitle":"x","datasourceType":"tenantdb","dataQueryOptions":{${many((n) => `"k${n}":"{{inputs.a}}"`, MANY_SETTINGS)}}}`,
    ],
    [
      'post /api/v1/auth/config/:tenantID',
      'as many keys as a setting may have values',
      `{"config":{${many((n) => `"k${n}":{}`, MANY_SETTINGS)}}}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute/bulk',
      'items that are at fault',
      `{"items":[${many(() => `{"args":1,"tags":[${many(String, 1_000)}]}`, 1_000)}]}`,
    ],
    [
      'post /api/v1/tenants/:tenantID/workflows/:workflowID/execute/bulk',
      'items of many arguments',
      JSON.stringify({
        items: Array.from({ length: 1_000 }, (_, n) => ({ args: manyArguments(), idempotencyKey: `k${n}` })),
      }),
    ],
  ];
}

function many(unit: (n: number) => string, count: number): string {
  return Array.from({ length: count }, (_, n) => unit(n)).join(',');
}

function manyArguments(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`key${n}`, 'x'.repeat(8)]));
}
