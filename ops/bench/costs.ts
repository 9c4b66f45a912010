import { routeGroups } from '#api/app/routes.ts';
import { findLossyNumber } from '#api/http/request/lossy-numbers.ts';
import { checkSubmission } from '#api/questions/check-submission.ts';
import { describingTools } from '#api/tools/describe.ts';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { Json, type JsonObject } from '#shared/core/json.ts';
import { readJSON } from '#shared/core/lossless-json.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { findUnstorable } from '#shared/core/unstorable.ts';
import { diffGraphs } from '#shared/workflow/graph/diff.ts';
import { outputText } from '#workers/engine/values/outputs.ts';
import { maskOutput } from '#workers/nodes/mask.ts';
import { splitStatements } from '#workers/tenant-database/sql-text.ts';
import { leastCostOf, longestHold } from './event-loop.ts';
import type { Figure, Row } from './row.ts';

const SIZE = 5_000_000;

/**
 * Processor time of calculations whose input a caller chooses, or the longest time for which one that gives way holds the event loop.
 * The floor is what parsing and writing as much JSON takes. Neither servers nor the backplane are used.
 */
export const costs: Row = async ({ kind }) => (kind === 'redis' ? [] : [...pure(), ...(await givingWay())]);

function pure(): Figure[] {
  const keys = `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":${at}`).join(',')}}`;
  const answers = {
    '100,000 keys': keys,
    'long numbers': list('12345678901234567', 100_000),
    'empty objects': list('{}', 500_000),
    escapes: list('"\\u0001"', 180_000),
  };
  const figures = Object.entries(answers).flatMap(([what, text]) => {
    const output = { answer: readJSON(text) };
    return [
      figureOf(
        `an answer of ${what} is read`,
        keys,
        leastCostOf(() => readJSON(text)),
      ),
      figureOf(
        `an answer of ${what} is masked`,
        keys,
        leastCostOf(() => maskOutput(output, ['secret'])),
      ),
      figureOf(
        `an answer of ${what} is written`,
        keys,
        leastCostOf(() => outputText(output, 50_000_000)),
      ),
    ];
  });
  for (const unit of ['1', '{}', '[]', '"a"', '{"a":1}']) {
    const text = list(unit, SIZE / (unit.length + 1));
    const value: unknown = JSON.parse(text);
    const check = () => [findUnstorable(value), parseValue(Json, value)];
    figures.push(figureOf(`five megabytes of ${unit} are checked`, text, leastCostOf(check)));
  }
  return [...figures, differing(), submitted()];
}

function differing(): Figure {
  const deep = (last: number) => {
    const parts: Json[] = [...Array.from({ length: 330_000 }, () => ({ a: 1, b: 'c' })), last];
    return Array.from({ length: 12 }).reduce<Json>((inner) => [inner], parts);
  };
  const graph = (config: Json) => ({ nodes: [{ id: 'a', config }], edges: [], options: {} });
  const [before, after] = [graph(deep(1)), graph(deep(2))];
  const cost = leastCostOf(() => diffGraphs(before, after));
  return figureOf('graphs of five megabytes that differ at the bottom are compared', JSON.stringify(after), cost);
}

function submitted(): Figure {
  const items = { anyOf: [...Array(4_000).fill({ type: 'string' }), { type: 'number' }] };
  const form: JsonObject = {
    fields: [],
    formSchema: { type: 'object', properties: { a: { type: 'array', items } } },
  };
  const answer: JsonObject = { a: Array(50_000).fill(1) };
  const cost = leastCostOf(() => {
    try {
      checkSubmission(form, answer);
    } catch {
      // It has too many values for so many schemas.
    }
  });
  return figureOf('an answer to a form with 4,000 choices is refused', JSON.stringify([form, answer]), cost);
}

async function givingWay(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const unit of [';', '(', 'a,', "'' ", '$a$ ', '--\n', 'select 1;', '/']) {
    const text = unit.repeat(SIZE / unit.length);
    const hold = await longestHold(0, () => splitStatements(text, 200));
    figures.push(
      figureOf(`five megabytes of ${JSON.stringify(unit)} are split into statements`, JSON.stringify(text), hold),
    );
  }
  for (const digits of [15, 16]) {
    const text = list('1234567890123456'.slice(0, digits), 290_000);
    const hold = await longestHold(0, () => findLossyNumber(text));
    figures.push(figureOf(`numbers of ${digits} digits are searched for lossy ones`, text, hold));
  }
  const hold = await longestHold(0, () => runCooperatively(describingTools(routeGroups)));
  return [...figures, figureOf('the tools are described', list('1', 1_000_000), hold)];
}

function list(unit: string, count: number): string {
  return `[${`${unit},`.repeat(count - 1)}${unit}]`;
}

function figureOf(figure: string, json: string, ms: number): Figure {
  const floor = leastCostOf(() => JSON.stringify(JSON.parse(json)));
  const [value, rounded] = [Number(ms.toFixed(1)), Number(floor.toFixed(1))];
  return {
    figure,
    value,
    unit: 'ms of processor time',
    floor: rounded,
    ratio: Number((ms / floor).toFixed(2)),
    settings: {},
  };
}
