import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { PageInputs } from '#api/resources/app-pages/run-schemas.ts';
import { CronJobCreate } from '#api/resources/cron-jobs/schemas.ts';
import { DataQueryInputs, DataQueryRun, DataQueryTest } from '#api/resources/queries/schemas.ts';
import { Rerun } from '#api/resources/workflow-instances/rerun/schemas.ts';
import { BulkItem } from '#api/resources/workflows/execute/bulk-schemas.ts';
import { WorkflowExecute } from '#api/resources/workflows/execute/schemas.ts';
import { WorkflowPlan } from '#api/resources/workflows/plan/schemas.ts';
import { WorkflowTest } from '#api/resources/workflows/schemas.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { clientEvents } from '#shared/messaging/realtime/client-events.ts';

const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const query = { dataQueryOptions: { query: 'SELECT 1' } };

type Case = [string, z.ZodType, JsonObject, string, string];

const cases: Case[] = [
  ['execute', WorkflowExecute, {}, 'args', 'inputValues'],
  ['an item of a batch', BulkItem, {}, 'args', 'inputValues'],
  ['plan', WorkflowPlan, {}, 'args', 'inputValues'],
  ['rerun', Rerun, {}, 'args', 'inputValues'],
  ['test', WorkflowTest, { workflowID: id }, 'args', 'inputValues'],
  ['run of a query', DataQueryRun, {}, 'inputValues', 'args'],
  ['test of a stored query', DataQueryInputs, {}, 'inputValues', 'args'],
  ['test of a query', DataQueryTest, { dataQuery: query }, 'inputValues', 'args'],
  ['an app page', PageInputs, {}, 'args', 'inputValues'],
  [
    'connecting a widget',
    clientEvents.widget_workflow_connect,
    { widgetID: id, workflowID: id },
    'inputParams',
    'inputValues',
  ],
  ['refreshing a widget', clientEvents.widget_refresh, { widgetID: id }, 'inputParams', 'inputValues'],
];

describe('inputs under both of their names', () => {
  test.each(cases)('%s', (_, schema, rest, name, other) => {
    expect(parseValue(schema, { ...rest, [name]: { n: 1 }, [other]: { n: 2 } })).toMatchObject({
      issues: [{ path: [other], message: `differs from \`${name}\`: expected one of the two` }],
    });
    const alone = parseValue(schema, { ...rest, [other]: { n: 1 } });
    expect(JSON.stringify(alone)).toContain('{"n":1}');
    const equal = { ...rest, [name]: { n: 1, list: [1] }, [other]: { list: [1], n: 1 } };
    expect(parseValue(schema, equal)).toMatchObject({ success: true });
  });

  test('the config of a cron job', () => {
    const job = (cronJobConfig: JsonObject) =>
      parseValue(CronJobCreate, {
        ...{ cronJobTitle: 'Job', cronJobSchedule: '0 1 * * *', cronJobType: 'workflow' },
        cronJobConfig: { workflowID: id, ...cronJobConfig },
      });
    expect(job({ args: { n: 1 }, inputValues: { n: 2 } })).toMatchObject({
      issues: [{ path: ['cronJobConfig', 'args'], message: expect.stringContaining('differs from `inputValues`') }],
    });
    expect(job({ args: { n: 1 }, inputValues: { n: 1 } })).toMatchObject({ success: true });
  });
});
