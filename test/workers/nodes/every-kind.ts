import type { JsonObject } from '#shared/core/json.ts';
import type { AnyNode } from '#shared/workflow/nodes/index.ts';

/** A config of a kind, with what becomes of it. */
export interface Way {
  data: JsonObject;
  /** Exits that the node leaves by, each with the value of the node behind it; `true` where the kind has no `outputVariable`. */
  exits: Record<string, unknown>;
  /** The answer of a person, or the payload of an event; null lets the time of the node pass. */
  answer?: JsonObject | null;
  /** The node that the node repeats. */
  body?: { type: string; [field: string]: unknown };
}

/** Facts about a kind that the contract tests of every kind need. */
export interface KindRow {
  /** Configs that are refused when they are saved, with the field that the error names. */
  refused: readonly (readonly [path: string, data: JsonObject])[];
  /** Together they leave by every exit. */
  ways: readonly Way[];
  /**
   * Fails at each attempt. `again`: a further attempt could succeed. `passedOver`: the exit when the run goes on and nothing is
   * connected to `error`. Null for kinds that cannot fail.
   */
  failing: (Pick<Way, 'data' | 'answer' | 'body'> & { code: string; again: boolean; passedOver: string }) | null;
  /** Lasts until the service answers `/held`, a person answers, or time passes. Null for kinds that are computed at once. */
  lasting: (Way & { overtime: string | null }) | null;
}

export interface Surroundings {
  /** Answers `/ok`, fails `/fails`, and answers `/held` when the test lets it: by path, or as a language model by prompt. */
  service: string;
  /** The input of every run. */
  input: JsonObject;
  /** A stored query that calls the path that `inputs.path` names. */
  dataQueryID: string;
  /** Workflows that end at once, with `{ got: <input.n> }`; that fail; and that call `/held`. */
  child: string;
  failingChild: string;
  openChild: string;
}

/** The error of a config whose template came to a value of another type. */
const misfit = { code: 'VALIDATION_ERROR', again: false };

/** One row for each kind: the compiler refuses a table without one. */
export function rowsOfKinds(around: Surroundings): Readonly<Record<AnyNode['kind'], KindRow>> {
  const { service, input, dataQueryID, child, failingChild, openChild } = around;
  const yes = { id: 'yes', conditions: [{ operator: 'equals', leftValue: '{{ctx.input.n}}', rightValue: 7 }] };
  const no = { id: 'no', conditions: [{ operator: 'equals', leftValue: '{{ctx.input.n}}', rightValue: 8 }] };
  const work: readonly (readonly [string, JsonObject])[] = [
    ['retryLimit', { retryLimit: 11 }],
    ['retryOn.0', { retryOn: ['always'] }],
    ['errorHandling', { errorHandling: 'ignore' }],
    ['timeoutSeconds', { timeoutSeconds: 0 }],
    ['isDisabled', { isDisabled: '{{ctx.input.off}}' }],
  ];
  const withWork = (data: JsonObject) => work.map(([path, more]) => [path, { ...data, ...more }] as const);
  const form = { fields: [{ key: 'amount', fieldType: 'number' }] };
  const paid = { eventName: 'paid', eventKey: '{{ctx.input.n}}', lookbackMinutes: 0 };
  const posted = (path: string) => ({ url: `${service}${path}`, method: 'POST' });
  const asked = (path: string) => ({ dataQueryID, inputValues: { path } });
  /** Items of kinds that repeat a body: each item lasts. */
  const openItems = {
    data: { sourceVariable: [1, 2] },
    body: { type: 'http', ...posted('/held') },
    exits: { completed: [{ ok: true }, { ok: true }] },
    overtime: null,
  };

  return {
    start: {
      refused: [
        ['joinMode', { joinMode: 'none' }],
        ['isDisabled', { isDisabled: 'yes' }],
      ],
      ways: [{ data: {}, exits: { output: true } }],
      failing: null,
      lasting: null,
    },
    dataQuery: {
      refused: [
        ...withWork({ dataQueryID }),
        ['dataQueryID', {}],
        ['dataQueryID', { dataQueryID: 'mine' }],
        ['inputValues.n', { dataQueryID, inputValues: { n: 'ctx.input.n' } }],
        ['inputValues.n', { dataQueryID, inputValues: { n: '{{ctx.input.n + 1}}' } }],
        ['outputVariable', { dataQueryID, outputVariable: 'input' }],
      ],
      ways: [
        { data: asked('ok'), exits: { success: { ok: true } } },
        { data: { ...asked('fails'), errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: { data: asked('fails'), code: 'UPSTREAM_FAILED', again: true, passedOver: 'success' },
      lasting: { data: asked('held'), exits: { success: { ok: true } }, overtime: 'NODE_TIMEOUT' },
    },
    http: {
      refused: [
        ...withWork(posted('/ok')),
        ['url', {}],
        ['url', { url: `${service}/{{ctx.input.n + 1}}` }],
        ['method', { url: service, method: 'FETCH' }],
        ['headers.0.key', { url: service, headers: [{ value: 'x' }] }],
        ['outputVariable', { url: service, outputVariable: '7th' }],
      ],
      ways: [
        { data: posted('/ok'), exits: { success: { ok: true } } },
        { data: { ...posted('/fails'), failOnStatus: false }, exits: { success: { ok: false } } },
        { data: { ...posted('/fails'), errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: { data: posted('/fails'), code: 'UPSTREAM_FAILED', again: true, passedOver: 'success' },
      lasting: { data: posted('/held'), exits: { success: { ok: true } }, overtime: 'NODE_TIMEOUT' },
    },
    ai: {
      refused: [
        ...withWork({ prompt: '/ok' }),
        ['prompt', {}],
        ['prompt', { prompt: '{{ctx.input.n + 1}}' }],
        ['instructions', { prompt: '/ok', instructions: '{{run.id}}' }],
        ['temperature', { prompt: '/ok', temperature: 3 }],
        ['maxOutputTokens', { prompt: '/ok', maxOutputTokens: 0 }],
        ['outputVariable', { prompt: '/ok', outputVariable: '7th' }],
      ],
      ways: [
        { data: { prompt: '/ok' }, exits: { success: '{"ok": true}' } },
        { data: { prompt: '/ok', outputSchema: { type: 'object' } }, exits: { success: { ok: true } } },
        { data: { prompt: '/fails', errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: { data: { prompt: '/fails' }, code: 'UPSTREAM_FAILED', again: true, passedOver: 'success' },
      lasting: { data: { prompt: '/held' }, exits: { success: '{"ok": true}' }, overtime: 'NODE_TIMEOUT' },
    },
    javascript: {
      refused: [
        ...withWork({ code: 'return 1;' }),
        ['code', {}],
        ['code', { code: '' }],
        ['outputVariable', { code: 'return 1;', outputVariable: 'item' }],
      ],
      ways: [
        { data: { code: 'return ctx.input.n * 2;' }, exits: { success: 14 } },
        { data: { code: 'throw new Error("no luck");', errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: {
        data: { code: 'throw new Error("no luck");' },
        code: 'NODE_FAILED',
        again: true,
        passedOver: 'success',
      },
      lasting: {
        data: { code: 'while (Date.now() < ctx.input.until); return 14;' },
        exits: { success: 14 },
        overtime: 'NODE_TIMEOUT',
      },
    },
    condition: {
      refused: [
        ...withWork({ branches: [yes] }),
        ['branches', {}],
        ['branches', { branches: [yes, yes] }],
        ['branches.0.conditions', { branches: [{ id: 'yes', conditions: [] }] }],
        [
          'branches.0.conditions.0.operator',
          { branches: [{ id: 'yes', conditions: [{ operator: 'is', leftValue: 1 }] }] },
        ],
        ['branches.0.id', { branches: [yes], defaultBranch: 'yes' }],
      ],
      ways: [
        { data: { branches: [no, yes] }, exits: { yes: true } },
        { data: { branches: [no] }, exits: { default: true } },
        { data: { branches: [no], defaultBranch: 'none' }, exits: { none: true } },
        {
          data: { branches: [{ ...yes, label: '{{ctx.input.n}}' }], errorHandling: 'continue' },
          exits: { error: true },
        },
      ],
      failing: { data: { branches: [{ ...yes, label: '{{ctx.input.n}}' }] }, ...misfit, passedOver: 'default' },
      lasting: null,
    },
    switch: {
      refused: [
        ...withWork({ switchValue: 1, cases: [{ id: 'one' }] }),
        ['cases', { switchValue: 1 }],
        ['cases', { switchValue: 1, cases: [{ id: 'one' }, { id: 'one' }] }],
        ['switchValue', { switchValue: 'ctx.input.n', cases: [{ id: 'one' }] }],
        ['cases.0.matchValue', { switchValue: 1, cases: [{ id: 'one', matchValue: 'ctx.input.n' }] }],
      ],
      ways: [
        {
          data: {
            switchValue: '{{ctx.input.n}}',
            cases: [
              { id: 'six', matchValue: 6 },
              { id: 'seven', matchValue: 7 },
            ],
          },
          exits: { seven: true },
        },
        { data: { switchValue: '{{ctx.input.n}}', cases: [{ id: 'six', matchValue: 6 }] }, exits: { default: true } },
        {
          data: { switchValue: 1, cases: [{ id: 'six', label: '{{ctx.input.n}}' }], errorHandling: 'continue' },
          exits: { error: true },
        },
      ],
      failing: {
        data: { switchValue: 1, cases: [{ id: 'six', label: '{{ctx.input.n}}' }] },
        ...misfit,
        passedOver: 'default',
      },
      lasting: null,
    },
    set: {
      refused: [
        ...withWork({ assignments: [{ name: 'a', value: 1 }] }),
        ['assignments', {}],
        ['assignments.0.name', { assignments: [{ name: 'output', value: 1 }] }],
        ['assignments', { assignments: [{ name: 'a' }, { name: 'a' }] }],
        ['outputVariable', { assignments: [{ name: 'a' }], outputVariable: 'a' }],
      ],
      ways: [
        { data: { assignments: [{ name: 'a', value: '{{ctx.input.n}}' }] }, exits: { output: { a: 7 } } },
        {
          data: { assignments: [{ name: '{{ctx.input.n}}', value: 1 }], errorHandling: 'continue' },
          exits: { error: null },
        },
      ],
      failing: { data: { assignments: [{ name: '{{ctx.input.n}}', value: 1 }] }, ...misfit, passedOver: 'output' },
      lasting: null,
    },
    fanout: {
      refused: [
        ...withWork({ branches: [{ id: 'left' }] }),
        ['branches', {}],
        ['branches', { branches: [{ id: 'left' }, { id: 'left' }] }],
        ['branches.0.id', { branches: [{ id: 'error' }] }],
      ],
      ways: [
        { data: { branches: [{ id: 'left' }, { id: 'right' }] }, exits: { output: true, left: true, right: true } },
        {
          data: { branches: [{ id: 'left', name: '{{ctx.input.n}}' }], errorHandling: 'continue' },
          exits: { error: true },
        },
      ],
      failing: { data: { branches: [{ id: 'left', name: '{{ctx.input.n}}' }] }, ...misfit, passedOver: 'output' },
      lasting: null,
    },
    join: {
      refused: [
        ...withWork({ sourceVariables: ['input'] }),
        ['joinMode', { joinMode: 'first' }],
        ['sourceVariables', { sourceVariables: 'input' }],
      ],
      ways: [
        {
          data: { sourceVariables: ['input', 'missing'], requireAll: false },
          exits: { output: { input, missing: null } },
        },
        { data: { sourceVariables: ['missing'], errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: { data: { sourceVariables: ['missing'] }, code: 'NODE_FAILED', again: false, passedOver: 'output' },
      lasting: null,
    },
    loop: {
      refused: [
        ['sourceVariable', {}],
        ['sourceVariable', { sourceVariable: 'ctx.input.items' }],
        ['maxIterations', { sourceVariable: [1], maxIterations: 0 }],
        ['indexVariable', { sourceVariable: [1], indexVariable: 'item' }],
        ['errorHandling', { sourceVariable: [1], errorHandling: 'retry_then_fail' }],
        ['delayBetweenItems', { sourceVariable: [1], delayBetweenItems: 60_001 }],
      ],
      ways: [
        {
          data: { sourceVariable: '{{ctx.input.items}}' },
          body: { type: 'javascript', code: 'return ctx.item + ctx.index;' },
          exits: { completed: [1, 3] },
        },
        { data: { sourceVariable: [] }, exits: { completed: [] } },
        { data: { sourceVariable: [1, 2], maxIterations: 1 }, exits: { error: null } },
      ],
      failing: {
        data: { sourceVariable: [1, 2], maxIterations: 1 },
        body: { type: 'log', message: 'never' },
        code: 'NODE_FAILED',
        again: false,
        passedOver: 'completed',
      },
      lasting: openItems,
    },
    map: {
      refused: [
        ['sourceVariable', {}],
        ['sourceVariable', { sourceVariable: 'ctx.input.items' }],
        ['concurrency', { sourceVariable: [1], concurrency: 0 }],
        ['indexVariable', { sourceVariable: [1], indexVariable: 'item' }],
        ['toleratedFailures', { sourceVariable: [1], failurePolicy: 'tolerate' }],
        ['errorHandling', { sourceVariable: [1], errorHandling: 'skip_item' }],
      ],
      ways: [
        {
          data: { sourceVariable: '{{ctx.input.items}}' },
          body: { type: 'javascript', code: 'return ctx.item + ctx.index;' },
          exits: { completed: [1, 3] },
        },
        { data: { sourceVariable: [] }, exits: { completed: [] } },
        { data: { sourceVariable: [1, 2], maxIterations: 1 }, exits: { error: null } },
      ],
      failing: {
        data: { sourceVariable: [1, 2], maxIterations: 1 },
        code: 'NODE_FAILED',
        again: false,
        passedOver: 'completed',
      },
      lasting: openItems,
    },
    delay: {
      refused: [
        ...withWork({ delaySeconds: 1 }),
        ['delaySeconds', { delaySeconds: 60 }],
        ['delayMinutes', { delayMinutes: 1440, delaySeconds: 1 }],
        ['delayVariable', { delayType: 'dynamic' }],
        ['delayVariable', { delayType: 'dynamic', delayVariable: 'ctx.input.n' }],
        ['untilTime', { delayType: 'until' }],
      ],
      ways: [
        { data: { delayMs: 20 }, exits: { output: true } },
        { data: { delayType: 'dynamic', delayVariable: '{{ctx.input.n}}' }, exits: { output: true } },
        { data: { delayType: 'until', untilTime: '2020-01-01T00:00:00Z' }, exits: { output: true } },
        {
          data: { delayType: 'dynamic', delayVariable: '{{ctx.input.word}}', errorHandling: 'continue' },
          exits: { error: true },
        },
      ],
      failing: {
        data: { delayType: 'dynamic', delayVariable: '{{ctx.input.word}}' },
        code: 'VALIDATION_ERROR',
        again: false,
        passedOver: 'output',
      },
      lasting: { data: { delayMinutes: 5 }, exits: { output: true }, answer: null, overtime: null },
    },
    dataCollection: {
      refused: [
        ...withWork(form),
        ['fields.0.key', { fields: [{ label: 'Amount' }] }],
        ['fields.0.fieldType', { fields: [{ key: 'amount', fieldType: 'money' }] }],
        ['expiryMinutes', { ...form, expiryMinutes: -1 }],
        ['approvers', { ...form, approvers: [] }],
        ['formSchema', { formSchema: 'money' }],
      ],
      ways: [
        { data: form, answer: { amount: 5 }, exits: { output: { amount: 5 } } },
        { data: { ...form, timeoutHandle: 'late' }, answer: null, exits: { late: null } },
        { data: { ...form, errorHandling: 'continue' }, answer: null, exits: { error: null } },
      ],
      failing: { data: form, answer: null, code: 'NODE_TIMEOUT', again: false, passedOver: 'output' },
      lasting: { data: form, answer: { amount: 5 }, exits: { output: { amount: 5 } }, overtime: null },
    },
    approval: {
      refused: [
        ...withWork({}),
        ['onTimeout', { onTimeout: 'approve' }],
        ['expiryMinutes', { expiryMinutes: 10_081 }],
        ['approvers', { approvers: '' }],
        ['requireComment', { requireComment: 'yes' }],
      ],
      ways: [
        {
          data: {},
          answer: { decision: 'approve', comment: 'Fine' },
          exits: { approved: { approved: true, comment: 'Fine' } },
        },
        { data: {}, answer: { decision: 'reject' }, exits: { rejected: { approved: false, comment: '' } } },
        { data: {}, answer: null, exits: { expired: { approved: false, expired: true, comment: '' } } },
        { data: { onTimeout: 'fail', errorHandling: 'continue' }, answer: null, exits: { error: null } },
      ],
      failing: {
        data: { onTimeout: 'fail' },
        answer: null,
        code: 'NODE_TIMEOUT',
        again: false,
        passedOver: 'rejected',
      },
      lasting: {
        data: {},
        answer: { decision: 'approve' },
        exits: { approved: { approved: true, comment: '' } },
        overtime: null,
      },
    },
    waitForEvent: {
      refused: [
        ...withWork(paid),
        ['eventName', { eventKey: 7 }],
        ['eventKey', { eventName: 'paid', eventKey: 'ctx.input.n' }],
        ['expiryMinutes', { ...paid, expiryMinutes: -1 }],
        ['onTimeout', { ...paid, onTimeout: 'go on' }],
      ],
      ways: [
        { data: paid, answer: { amount: 5 }, exits: { received: { amount: 5 } } },
        { data: paid, answer: null, exits: { expired: null } },
        { data: { ...paid, onTimeout: 'fail', errorHandling: 'continue' }, answer: null, exits: { error: null } },
      ],
      failing: {
        data: { ...paid, onTimeout: 'fail' },
        answer: null,
        code: 'NODE_TIMEOUT',
        again: false,
        passedOver: 'expired',
      },
      lasting: { data: paid, answer: { amount: 5 }, exits: { received: { amount: 5 } }, overtime: null },
    },
    subWorkflow: {
      refused: [
        ...withWork({ childWorkflowID: child }),
        ['childWorkflowID', {}],
        ['childWorkflowID', { childWorkflowID: 'mine' }],
        ['inputMapping.n', { childWorkflowID: child, inputMapping: { n: 'ctx.input.n' } }],
        ['maxDepth', { childWorkflowID: child, maxDepth: 11 }],
        ['ctxMode', { childWorkflowID: child, ctxMode: 'shared' }],
      ],
      ways: [
        {
          data: { childWorkflowID: child, inputMapping: { n: '{{ctx.input.n}}' } },
          exits: { success: { got: 7 } },
        },
        { data: { childWorkflowID: failingChild, errorHandling: 'continue' }, exits: { error: null } },
      ],
      failing: { data: { childWorkflowID: failingChild }, code: 'NODE_FAILED', again: true, passedOver: 'success' },
      lasting: { data: { childWorkflowID: openChild }, exits: { success: { ok: true } }, overtime: null },
    },
    log: {
      refused: [...withWork({ message: 'Here' }), ['message', {}], ['level', { message: 'Here', level: 'fatal' }]],
      ways: [
        { data: { message: 'Order {{ctx.input.n}}' }, exits: { output: true } },
        { data: { message: 'Here', level: '{{ctx.input.word}}', errorHandling: 'continue' }, exits: { error: true } },
      ],
      failing: { data: { message: 'Here', level: '{{ctx.input.word}}' }, ...misfit, passedOver: 'output' },
      lasting: null,
    },
    end: {
      refused: [
        ['status', { status: 'done' }],
        ['outputParameters.0.name', { outputParameters: [{ sourceVariable: 1 }] }],
        ['outputParameters.0.sourceVariable', { outputParameters: [{ name: 'n', sourceVariable: 'ctx.input.n' }] }],
        ['cancelOthers', { cancelOthers: 'all' }],
      ],
      ways: [
        { data: { outputParameters: [{ name: 'value', sourceVariable: '{{ctx.input.n}}' }] }, exits: { value: 7 } },
      ],
      failing: null,
      lasting: null,
    },
  };
}
