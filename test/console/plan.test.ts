import { expect, test } from 'vitest';
import { planText } from '#ops/console/query/plan-text.ts';

test.each([
  { of: 'PostgreSQL', result: [{ 'QUERY PLAN': [{ Plan: { Rows: 3 } }] }], lines: ['[', '  {', '    "Plan": {'] },
  { of: 'MySQL', result: { query_block: { select_id: 1 } }, lines: ['{', '  "query_block": {', '    "select_id": 1'] },
  {
    of: 'DuckDB',
    result: [{ explain_key: 'physical_plan', explain_value: '┌─────┐\n│ SCAN │' }],
    lines: ['physical_plan ', '┌─────┐', '│ SCAN │'],
  },
  {
    of: 'SQLite',
    result: [
      { id: 2, parent: 0, notused: 0, detail: 'SCAN parts' },
      { id: 5, parent: 2, notused: 0, detail: 'LIST SUBQUERY' },
    ],
    lines: ['2 0 0 SCAN parts', '5 2 0 LIST SUBQUERY'],
  },
])('a plan of $of keeps its lines', ({ result, lines }) => {
  expect(planText(result).split('\n').slice(0, 3)).toEqual(lines);
});
