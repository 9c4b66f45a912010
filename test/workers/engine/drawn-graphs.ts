import fc from 'fast-check';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import type { ExecutedDrawing } from '../../support/executed-runs.ts';
import { code, graph } from '../../support/graphs.ts';

const CHOICES = ['condition', 'switch'] as const;
const WAITS = ['delay', 'approval', 'dataCollection', 'waitForEvent', 'subWorkflow'] as const;
const PLAIN = ['set', 'log', 'disabled'] as const;

/** A part of a workflow, with one way in and one or more ways out. A node fails in one of `failsIn` frames; 0: never. */
export type Part =
  | { kind: 'work'; failsIn: number; handling: string | null; hasError: boolean }
  | { kind: (typeof PLAIN)[number] }
  /** `isLate`: what it waits for does not come, or fails. */
  | { kind: (typeof WAITS)[number]; isLate: boolean }
  /** Exclusive branches, which meet in the next part. */
  | { kind: (typeof CHOICES)[number]; takes: number; branches: Part[][] }
  /** All branches begin. They meet in a join. */
  | { kind: 'fanout'; joinMode: 'all' | 'any'; branches: Part[][] }
  | { kind: 'loop' | 'map'; times: number; handling: string | null; hasError: boolean; delayMs: number; body: Part[] };

export const { parts } = fc.letrec<{ parts: Part[]; part: Part; branches: Part[][] }>((tie) => ({
  parts: fc.array(tie('part'), { minLength: 1, maxLength: 4 }),
  branches: fc.array(
    fc.oneof({ maxDepth: 2 }, fc.constant<Part[]>([{ kind: 'set' }]), fc.array(tie('part'), { maxLength: 2 })),
    { minLength: 2, maxLength: 3 },
  ),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({
      kind: fc.constant('work' as const),
      failsIn: fc.constantFrom(0, 0, 0, 0, 2, 3),
      handling: fc.constantFrom(null, 'continue', 'continue_default'),
      hasError: fc.boolean(),
    }),
    fc.record({ kind: fc.constantFrom(...PLAIN) }),
    fc.record({ kind: fc.constantFrom(...WAITS), isLate: fc.constantFrom(false, false, true) }),
    fc.record({ kind: fc.constantFrom(...CHOICES), takes: fc.nat(3), branches: tie('branches') }),
    fc.record({
      kind: fc.constant('fanout' as const),
      joinMode: fc.constantFrom('all' as const, 'any' as const),
      branches: tie('branches'),
    }),
    fc.record({
      kind: fc.constantFrom('loop' as const, 'map' as const),
      times: fc.nat(3),
      handling: fc.constantFrom(null, 'fail_workflow', 'continue', 'skip_item'),
      hasError: fc.boolean(),
      delayMs: fc.constantFrom(0, 0, 1000),
      body: tie('parts'),
    }),
  ),
}));

type Drawn<Kind extends Part['kind']> = Extract<Part, { kind: Kind }>;

/**
 * The workflow of the parts. Each node puts its result under its own id, and reads only results of the nodes directly before it, so that
 * no result depends on the order of branches; behind a join of any it reads none.
 */
export function drawGraph(all: readonly Part[]): ExecutedDrawing {
  const nodes: Record<string, { type: string }> = { start: { type: 'start' } };
  const edges: string[] = [];
  const failing = new Map<string, number>();
  const late = new Set<string>();
  let seen = '';
  let heads = ['start'];
  append(all);
  const sourceVariable = seen;
  add('end', { outputParameters: [{ name: 'seen', sourceVariable }] }, []);
  const shape = graph(nodes, edges);
  const compiled = compileGraph(WorkflowNode.array().parse(shape.nodes), WorkflowEdge.array().parse(shape.edges));
  return { graph: runSync(compiled), failing, late };

  function append(list: readonly Part[]): void {
    for (const part of list) appendPart(part);
  }

  function appendPart(part: Part): void {
    switch (part.kind) {
      case 'work':
        return appendWork(part);
      case 'set':
        return void add('set', { assignments: [{ name: 'value', value: seen }] }, ['output']);
      case 'log':
        return void add('log', { message: seen }, ['output'], { result: false });
      case 'disabled':
        return void add('set', { assignments: [{ name: 'value', value: 1 }], isDisabled: true }, ['output']);
      case 'condition':
      case 'switch':
        return appendChoice(part);
      case 'fanout':
        return appendFanout(part);
      case 'loop':
      case 'map':
        return appendBody(part);
      default:
        return appendWait(part);
    }
  }

  function appendWork({ failsIn, handling, hasError }: Drawn<'work'>): void {
    const id = add('javascript', { code: 'return 1', ...(handling && { errorHandling: handling }) }, ['success']);
    failing.set(id, failsIn);
    // An error edge into what comes next: the branches exclude each other.
    if (hasError) heads.push(`${id}:error`);
  }

  function appendWait({ kind, isLate }: Drawn<(typeof WAITS)[number]>): void {
    const askGraph = { expiryMinutes: 1, fields: [{ key: 'answer', fieldType: 'number' }] };
    const configs: Record<(typeof WAITS)[number], [JsonObject, string[]]> = {
      delay: [{ delayMs: 10 }, ['output']],
      approval: [{ expiryMinutes: 1 }, ['approved', 'rejected', 'expired']],
      dataCollection: [{ ...askGraph, timeoutHandle: 'late' }, ['output', 'late']],
      waitForEvent: [{ eventName: 'paid', eventKey: 'key' }, ['received', 'expired']],
      subWorkflow: [{ childWorkflowID: CHILD, inputMapping: { seen } }, ['success', 'error']],
    };
    const [config, exits] = configs[kind];
    const id = add(kind, config, exits, { result: kind !== 'delay' });
    if (isLate) late.add(id);
  }

  function appendChoice({ kind, takes, branches }: Drawn<(typeof CHOICES)[number]>): void {
    const value = (at: number) => (at === takes ? 1 : 2);
    const config: JsonObject =
      kind === 'switch'
        ? { switchValue: takes, cases: branches.map((_, at) => ({ id: `b${at}`, matchValue: at })) }
        : {
            branches: branches.map((_, at) => {
              return { id: `b${at}`, conditions: [{ operator: 'equals', leftValue: value(at), rightValue: 1 }] };
            }),
          };
    const id = add(kind, config, [], { result: false });
    beside(id, [...branches, []], (at) => (at < branches.length ? `b${at}` : 'default'));
  }

  function appendFanout({ joinMode, branches }: Drawn<'fanout'>): void {
    const id = add('fanout', { branches: branches.map((_, at) => ({ id: `b${at}` })) }, [], { result: false });
    beside(id, branches, (at) => `b${at}`);
    const isAny = joinMode === 'any';
    const sourceVariables = isAny ? [] : heads.map((head) => head.split(':')[0] ?? '');
    if (isAny) seen = 'any';
    add('join', { joinMode, requireAll: false, sourceVariables }, ['output']);
  }

  /** Branches behind the exits of a node. What follows is behind all of them. */
  function beside(id: string, branches: readonly Part[][], exitAt: (at: number) => string): void {
    const [before, ends, results] = [seen, [] as string[], [] as string[]];
    for (const [at, branch] of branches.entries()) {
      heads = [`${id}:${exitAt(at)}`];
      seen = before;
      append(branch);
      ends.push(...heads);
      results.push(seen);
    }
    heads = ends;
    seen = results.join(' or ');
  }

  function appendBody({ kind, times, handling, hasError, delayMs, body }: Drawn<'loop' | 'map'>): void {
    const list = Array.from({ length: times }, (_, index) => index);
    const ofLoop = { delayBetweenItems: delayMs, ...(handling && { errorHandling: handling }) };
    const ofMap = { chunkSize: 2, failurePolicy: handling === 'continue' ? 'collect' : 'fail-fast' };
    const id = add(kind, { sourceVariable: list, ...(kind === 'loop' ? ofLoop : ofMap) }, ['completed']);
    const [after, result] = [heads, seen];
    heads = [`${id}:${kind}`];
    seen = '{{ctx.item}} of {{ctx.index}}';
    append(body);
    heads = [...after, ...(hasError ? [`${id}:error`] : [])];
    seen = result;
  }

  /** Adds a node behind the open heads. With exits, what follows is behind them and may read its result. */
  function add(type: string, data: JsonObject, exits: readonly string[], { result = true } = {}): string {
    const id = `n${Object.keys(nodes).length}`;
    nodes[id] = type === 'javascript' ? code('return 1', data) : { type, ...data };
    if (result && type !== 'end') Object.assign(nodes[id], { outputVariable: id });
    edges.push(...heads.map((head) => `${head}>${id}`));
    heads = exits.length > 0 ? exits.map((exit) => `${id}:${exit}`) : [id];
    if (result && exits.length > 0) seen = `{{ctx.${id}}}`;
    return id;
  }
}

const CHILD = '01a20361-eaf3-7000-be68-4c6e95a38225';
