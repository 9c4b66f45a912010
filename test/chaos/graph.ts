import type { Shape } from './program.ts';
import { type Addition, eventName, type Step } from './steps.ts';

/** Assets that the workflows of a program use. */
export interface Surroundings {
  /** Tells the events of its workflows from those of others. */
  name: string;
  serviceURL: string;
  /** Adds to a counter, by a stored query. */
  dataQueryID: string;
  /** Started once for each run that fails. */
  handlerID: string;
  childID: string | undefined;
  /** The address of the person who answers. */
  person: string;
}

interface Graph {
  nodes: { id: string; type: string; data: object; position: { x: number; y: number } }[];
  edges: { id: string; source: string; target: string; sourceHandle?: string }[];
}

/** An exit of a node. */
interface Head {
  id: string;
  exit?: string;
}

type Repeating = Extract<Step, { kind: 'loop' | 'map' }>;

/** The workflow of a shape: its steps, one after the other, and an end with the value that was computed. */
export function graphOf({ steps, options, end: status }: Shape, around: Surroundings) {
  const { name, serviceURL, dataQueryID, handlerID, childID, person } = around;
  const graph: Graph = { nodes: [], edges: [] };
  let from: Head[] = [add('start', 'start', {})];

  then('first', 'set', { assignments: [{ name: 'value', value: '{{ctx.input.n}}' }], outputVariable: 'initial' });
  for (const [index, step] of steps.entries()) thenStep(`${step.kind}${index}`, step);
  compute('last', 'ctx.value');
  const cancelOthers = steps.some(({ kind }) => kind === 'aside');
  const outputParameters = [{ name: 'value', sourceVariable: '{{ctx.value}}' }];
  then('end', 'end', { status, outputParameters, message: 'As planned', ...(cancelOthers && { cancelOthers }) });
  const workflowOptions = { ...options, onFailure: { workflowID: handlerID } };
  return { workflowNodes: graph.nodes, workflowEdges: graph.edges, workflowOptions };

  function thenStep(id: string, step: Step): void {
    switch (step.kind) {
      case 'add':
        return call(id, step);
      case 'both': {
        // The second is a branch of its own, which ends there.
        const before = from;
        call(`${id}b`, step.second);
        from = before;
        return call(`${id}a`, step.first);
      }
      case 'compute':
        return compute(id, `ctx.value * ${step.factor} + ${step.plus}`, "console.log('computed');");
      case 'keep':
        then(id, 'set', { assignments: [{ name: 'kept', value: '{{ctx.value}}' }] });
        return compute(`${id}sum`, `ctx.kept + ctx.value + ${step.plus}`);
      case 'choose':
        return thenChoice(id, step);
      case 'fan':
        return thenFan(id, step);
      case 'disabled':
        return call(id, step, { isDisabled: true });
      case 'approve': {
        // A person reads the title, and decides so.
        then(id, 'approval', {
          title: step.approves ? 'approve' : 'reject',
          ...(step.isNamed && { approvers: person }),
        });
        return branches(id, { approved: step.approved, rejected: step.rejected });
      }
      case 'note':
        return then(id, 'log', { message: 'The value is {{ctx.value}}' }, 'output');
      case 'wait':
        return then(id, 'delay', durationOf(step.ms), 'output');
      case 'ask':
        ask(id, step);
        return compute(`${id}sum`, 'ctx.value + ctx.collectedData.answer');
      case 'unanswered': {
        const reminders = [{ minutes: 0.01, from: 'expiry' }];
        then(id, 'dataCollection', { ...NEVER, expiryMinutes: SOON, reminders, timeoutHandle: 'late' });
        return branches(id, { late: step.late });
      }
      case 'query': {
        const { counter, amount } = step;
        const inputValues = { counter, amount, failures: 0, group: '{{ctx.input.group}}' };
        return then(id, 'dataQuery', { dataQueryID, inputValues, ...PATIENT }, 'success');
      }
      case 'event': {
        waitForEvent(id, eventName(step.send, step.brings, `${name}.${id}`), step.send === 'never' ? SOON : 60);
        branches(id, { received: step.received, expired: step.expired });
        return compute(`${id}sum`, 'ctx.value + (ctx.event?.brings ?? 0)');
      }
      case 'aside':
        return thenAside(id, step.what);
      case 'child':
        return child(id);
      case 'loop':
      case 'map':
        return thenBody(id, step);
    }
  }

  /** One of two calls, by the value. */
  function thenChoice(id: string, { how, above, high, low }: Extract<Step, { kind: 'choose' }>): void {
    const compared = { operator: 'greater_than', leftValue: '{{ctx.value}}', rightValue: above };
    const expression = { operator: 'expression', leftValue: `ctx.value > ${above}` };
    const cases = [{ id: 'high', operator: 'greater_than', matchValue: above }];
    if (how === 'switch') then(id, 'switch', { switchValue: '{{ctx.value}}', cases });
    else
      then(id, 'condition', { branches: [{ id: 'high', conditions: [how === 'condition' ? compared : expression] }] });
    branches(id, { high, default: low });
  }

  /** Calls side by side, which meet again. */
  function thenFan(id: string, { branches: calls, joinMode }: Extract<Step, { kind: 'fan' }>): void {
    then(id, 'fanout', { branches: calls.map((_, at) => ({ id: `b${at}` })) });
    branches(id, Object.fromEntries(calls.map((one, at) => [`b${at}`, one])));
    then(`${id}join`, 'join', { joinMode, sourceVariables: ['value'] }, 'output');
  }

  /** A branch of its own that waits until the end of the run cancels it. */
  function thenAside(id: string, what: Extract<Step, { kind: 'aside' }>['what']): void {
    const before = from;
    if (what === 'delay') then(id, 'delay', { delayMinutes: 60 });
    else if (what === 'question') then(id, 'dataCollection', NEVER);
    else waitForEvent(id, eventName('never', 0, `${name}.${id}`), 60);
    from = before;
  }

  /** A call behind each of these exits. What follows is behind all of them. */
  function branches(id: string, calls: Record<string, Addition>): void {
    from = Object.entries(calls).flatMap(([exit, one]) => {
      from = [{ id, exit }];
      call(`${id}${exit}`, one);
      return from;
    });
  }

  /** A body that adds to a counter; what its items give is added to the value. */
  function thenBody(id: string, step: Repeating): void {
    const { fails } = step;
    then(id, step.kind, repeating(step), step.kind);
    call(`${id}add`, step);
    const more = thenInner(`${id}inner`, step);
    if (step.waitMs > 0) then(`${id}wait`, 'delay', durationOf(step.waitMs), 'output');
    const failing = fails === null ? '' : `if (ctx.index === ${fails}) throw new Error('as planned'); `;
    then(`${id}each`, 'javascript', { code: `${failing}return ctx.item * ctx.index + 1 + ${more};` }, 'success');
    from = [{ id, exit: 'completed' }];
    const results = step.kind === 'loop' ? 'ctx.loopResults' : 'ctx.mapResults';
    compute(`${id}sum`, `${results}.reduce((sum, one) => (typeof one === 'number' ? sum + one : sum), ctx.value)`);
  }

  /** Adds the wait of each item. Returns an expression of its result. */
  function thenInner(id: string, { inner, amount }: Repeating): string {
    if (inner === 'child') child(id);
    if (inner === 'approve') then(id, 'approval', { title: 'approve' }, 'approved');
    if (inner === 'ask') ask(id, { form: 'fields', reminders: 0 });
    if (inner === 'event') {
      waitForEvent(id, eventName('asked', amount, `${name}.${id}`), 60);
      from = [{ id, exit: 'received' }];
    }
    return inner === 'ask' ? 'ctx.collectedData.answer' : inner === 'event' ? 'ctx.event.brings' : '0';
  }

  function ask(id: string, { form, reminders }: Pick<Extract<Step, { kind: 'ask' }>, 'form' | 'reminders'>): void {
    const times = [{ minutes: 0.005 }, { minutes: 0.02 }].slice(0, reminders);
    const asked =
      form === 'fields' ? { fields: [{ key: 'answer', fieldType: 'number' }] } : { title: 'schema', formSchema: FORM };
    then(id, 'dataCollection', { ...asked, ...(times.length > 0 && { reminders: times }) }, 'output');
  }

  function waitForEvent(id: string, event: string, expiryMinutes: number): void {
    then(id, 'waitForEvent', { eventName: event, eventKey: '{{ctx.input.run}}', expiryMinutes });
  }

  function child(id: string): void {
    const inputMapping = Object.fromEntries(['n', 'key', 'group', 'run'].map((key) => [key, `{{ctx.input.${key}}}`]));
    then(id, 'subWorkflow', { childWorkflowID: childID, inputMapping }, 'success');
  }

  function compute(id: string, expression: string, before = ''): void {
    then(id, 'javascript', { code: `${before} return ${expression};`, outputVariable: 'value' }, 'success');
  }

  function call(id: string, { counter, amount, failures = 0 }: Addition & { failures?: number }, more = {}): void {
    const body = { counter, amount, failures, group: '{{ctx.input.group}}' };
    then(id, 'http', { url: `${serviceURL}/add`, method: 'POST', body, ...PATIENT, ...more }, 'success');
  }

  function add(id: string, type: string, data: object): Head {
    graph.nodes.push({ id, type, data, position: { x: graph.nodes.length * 200, y: 0 } });
    return { id };
  }

  function then(id: string, type: string, data: object, exit?: string): void {
    add(id, type, data);
    for (const { id: source, exit: sourceHandle } of from)
      graph.edges.push({ id: `e${graph.edges.length}`, source, target: id, ...(sourceHandle && { sourceHandle }) });
    from = [{ id, ...(exit && { exit }) }];
  }
}

const PATIENT = { retryLimit: 5, retryDelaySeconds: 0.1 };
/** A question that no person answers. */
const NEVER = { title: 'never', fields: [{ key: 'answer', fieldType: 'number' }] };
/** Minutes until something expires that does not come. */
const SOON = 0.04;
const FORM = {
  type: 'object',
  properties: { answer: { type: 'number', minimum: 1 } },
  required: ['answer'],
  additionalProperties: false,
};

function durationOf(ms: number): object {
  return { delaySeconds: Math.floor(ms / 1000), delayMs: ms % 1000 };
}

/** The config of a node that repeats a body; if an item fails, the others count all the same. */
function repeating(step: Repeating): object {
  const { items: sourceVariable, fails, isLenient } = step;
  if (step.kind === 'loop') {
    const errorHandling = isLenient ? 'continue' : 'skip_item';
    return { sourceVariable, delayBetweenItems: step.pauseMs, ...(fails !== null && { errorHandling }) };
  }
  const { concurrency, chunkSize } = step;
  const policy = isLenient ? { failurePolicy: 'collect' } : { failurePolicy: 'tolerate', toleratedFailures: 1 };
  return { sourceVariable, concurrency, chunkSize, ...(fails !== null && policy) };
}
