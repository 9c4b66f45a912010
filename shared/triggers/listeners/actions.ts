import { z } from 'zod';
import type { Permission } from '../../access/policy/permissions.ts';
import { Json, JsonObject } from '../../core/json.ts';
import type { Issue } from '../../core/schema/issues.ts';
import { idOf, inputsOf } from '../../core/schema/reference.ts';
import { shownFor } from '../../core/schema/shown-for.ts';
import { codeFault } from '../../workflow/check-syntax.ts';
import { Comparison, Logic } from '../../workflow/nodes/kinds/condition.ts';
import { faultsOf, hasBraces } from '../../workflow/templates/expressions.ts';
import { textsOf } from '../../workflow/templates/templates.ts';

const inputValues = JsonObject.optional().meta({
  title: 'Inputs',
  description: 'By name; templates such as {{event.body.id}} are filled. Empty: the whole event as `event`',
});
const script = z.string().min(1).max(50_000).meta({
  title: 'Code',
  contentMediaType: 'text/javascript',
  description:
    'Body of a JavaScript function that reads `event` and returns, such as `return { ...event, body: event.body.order };`',
});

/** Contract of a kind of action. The behaviour is in `workers/listeners`. */
export interface ActionDefinition<Type extends string = string, Config extends z.ZodType = z.ZodType> {
  readonly type: Type;
  readonly label: string;
  readonly config: Config;
  /** The field of the config that names an asset, and what using it requires. */
  readonly names?: {
    readonly field: string;
    readonly resource: 'workflow' | 'dataquery';
    readonly permission: Permission;
  };
  /** The field of the config that names an asset without using it. */
  readonly mentions?: { readonly field: string; readonly resource: 'appPage' };
  /** Top-level fields of the config that are code, in which braces are no templates. */
  readonly raw?: readonly string[];
}

function defineAction<const Type extends string, Config extends z.ZodType>(
  definition: ActionDefinition<Type, Config>,
): ActionDefinition<Type, Config> {
  return definition;
}

/** Changes the event for the actions that follow; null or undefined filters it out. */
export const transform = defineAction({
  type: 'transform',
  label: 'Transform',
  config: z.object({ script }),
  raw: ['script'],
});

/** Ends the actions unless the conditions hold, or the code returns something true. */
export const filter = defineAction({
  type: 'filter',
  label: 'Filter',
  config: z
    .object({
      conditionLogic: Logic.meta({ title: 'Events go on if' }),
      conditions: z.array(Comparison).max(50).default([]).meta({
        title: 'Conditions',
        description: 'What is compared, in place of code',
      }),
      script: script.optional().meta({
        description:
          'Body of a JavaScript function that returns true for events that go on, such as `return event.body.total > 100;`',
      }),
    })
    .refine(({ conditions, script: code }) => conditions.length > 0 !== (code !== undefined), {
      path: ['conditions'],
      message: 'expected conditions, or a script, and not both',
    }),
  raw: ['script'],
});

export const triggerWorkflow = defineAction({
  type: 'trigger_workflow',
  label: 'Start a workflow',
  config: z.object({
    workflowID: idOf('workflow').meta({ title: 'Workflow', description: 'The workflow to start' }),
    inputValues: inputsOf(inputValues, 'workflowID'),
  }),
  names: { field: 'workflowID', resource: 'workflow', permission: 'workflow.execute' },
});

export const triggerQuery = defineAction({
  type: 'trigger_query',
  label: 'Run a data query',
  config: z.object({
    dataQueryID: idOf('dataQuery').meta({ title: 'Data query', description: 'The query to run' }),
    inputValues: inputsOf(inputValues, 'dataQueryID'),
  }),
  names: { field: 'dataQueryID', resource: 'dataquery', permission: 'dataquery.execute' },
});

export const saveToBuffer = defineAction({
  type: 'save_to_buffer',
  label: 'Save to a buffer',
  config: z.object({
    bufferName: z.string().min(1).max(100).default('default').meta({
      title: 'Buffer',
      description: 'Name under which the events are read; each name is a buffer',
    }),
    retentionPolicy: z.enum(['count', 'time', 'both']).default('count').meta({
      title: 'Kept by',
      description: '`count`: the newest events. `time`: those of the last hours. `both`: what is within both limits',
    }),
    maxEvents: z
      .int()
      .min(1)
      .max(10_000)
      .default(1_000)
      .meta({
        ...shownFor({ retentionPolicy: ['count', 'both'] }),
        title: 'Events at most',
        description: 'How many are kept',
      }),
    maxAgeHours: z
      .number()
      .min(0.01)
      .max(720)
      .default(24)
      .meta({
        ...shownFor({ retentionPolicy: ['time', 'both'] }),
        title: 'Hours at most',
        description: 'How long events are kept',
      }),
  }),
});

export const pushToAppPage = defineAction({
  type: 'push_to_app_page',
  label: 'Push to an app page',
  config: z.object({
    appPageID: idOf('appPage').meta({
      title: 'App page',
      description: 'The page whose viewers get the event',
    }),
    channelName: z.string().min(1).max(255).optional().meta({
      title: 'Channel',
      description: 'Name by which the page knows the events. Empty: `listener:` and the id of the listener',
    }),
    mode: z.enum(['replace', 'append']).default('replace').meta({
      title: 'Mode',
      description: '`replace`: the page shows the newest event. `append`: the page adds it to a list',
    }),
    maxArrayLength: z
      .int()
      .min(1)
      .max(100_000)
      .default(1_000)
      .meta({
        ...shownFor({ mode: ['append'] }),
        title: 'Items at most',
        description: 'How many items of the list the page keeps',
      }),
  }),
  mentions: { field: 'appPageID', resource: 'appPage' },
});

/** Sends an event to nodes that wait for it, as `POST T/workflows/events` does. */
export const sendEvent = defineAction({
  type: 'send_event',
  label: 'Send an event to runs',
  config: z.object({
    eventName: z.string().min(1).max(255).meta({
      title: 'Event',
      description: 'Name that waiting steps look for, such as payment',
    }),
    eventKey: z.union([z.string().min(1).max(255), z.number()]).meta({
      title: 'Key',
      description: 'By it the steps tell which event is theirs, such as {{event.body.orderID}}',
    }),
    data: Json.optional().meta({
      title: 'Data',
      contentMediaType: 'application/json',
      description: 'What the steps get; templates are filled. Empty: the whole event',
    }),
    rememberMinutes: z.number().min(0).max(10_080).default(60).meta({
      title: 'Remember (min)',
      description: 'Minutes for which the event is kept for steps that begin to wait only later',
    }),
  }),
});

/** All kinds of actions. */
export const actions = [
  transform,
  filter,
  triggerWorkflow,
  triggerQuery,
  saveToBuffer,
  pushToAppPage,
  sendEvent,
] as const satisfies readonly ActionDefinition[];

export type AnyAction = (typeof actions)[number];
export type ActionType = AnyAction['type'];

const byType = new Map<string, AnyAction>(actions.map((definition) => [definition.type, definition]));

export function findActionType(type: string): ActionDefinition | undefined {
  return byType.get(type);
}

/** The cast says that the list has at least one element, as the type of `z.enum` requires. */
export const ActionType = z.enum(actions.map(({ type }) => type) as [ActionType, ...ActionType[]]);

/** Finds the asset that a config names, its id in lower case; undefined for a kind that names nothing. */
export function namedIn({ names }: Pick<ActionDefinition, 'names'>, config: JsonObject) {
  const id = names && config[names.field];
  return names && typeof id === 'string' ? { ...names, id: id.toLowerCase() } : undefined;
}

/** Faults of the code in a config: of scripts, and of expressions in conditions. An expression with templates is code only once they are filled. */
export function codeIssues({ raw = [] }: Pick<ActionDefinition, 'raw'>, config: JsonObject): Issue[] {
  const scripts = raw.map((field) => ({ path: [field], text: config[field], form: 'body' as const }));
  const conditions = Comparison.array().safeParse(config.conditions).data ?? [];
  const expressions = conditions.flatMap(({ operator, leftValue }, at) =>
    operator === 'expression'
      ? [{ path: ['conditions', at, 'leftValue'], text: leftValue, form: 'expression' as const }]
      : [],
  );
  return [...scripts, ...expressions].flatMap(({ path, text, form }) => {
    if (typeof text !== 'string' || (form === 'expression' && hasBraces(text))) return [];
    const message = codeFault({ text, form }, 'event');
    return message === undefined ? [] : [{ path, message }];
  });
}

/** Faults of the templates in a config, whose root is `event`. */
export function templateIssues({ raw = [] }: Pick<ActionDefinition, 'raw'>, config: JsonObject): Issue[] {
  return textsOf(config, raw, hasBraces).flatMap(({ path, template }) =>
    [...faultsOf(template, 'event')].map((message) => ({ path, message })),
  );
}
