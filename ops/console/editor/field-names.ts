import type { Kind } from '../graph/kinds.ts';
import { wordsOfKey } from '../ui/field-words.ts';
import { isObject } from '../ui/is-object.ts';

type Path = readonly (string | number)[];
type Schema = Readonly<Record<string, unknown>>;

/** A field of a step as its form calls it: "Branches 1, Conditions 2, Value". */
export function fieldOfStep(path: Path, kind: Pick<Kind, 'schema'> | undefined): string {
  const [first, ...inside] = path;
  if (first !== 'data') return namesOf(path, undefined);
  return inside.length === 0 ? 'all of it' : namesOf(inside, kind?.schema);
}

/** An option of a workflow as its settings call it. */
export function fieldOfOptions([option, ...inside]: Path): string {
  if (option === undefined) return 'all of it';
  const name = optionNames[option] ?? wordsOfKey(String(option));
  return inside.length === 0
    ? name
    : `${name}${typeof inside[0] === 'number' ? ' ' : ', '}${namesOf(inside, undefined)}`;
}

/** The labels of the settings. */
export const optionNames: Readonly<Record<string, string>> = {
  inputDefinitions: 'Inputs',
  workflowRunTimeout: 'A run ends after',
  queueTimeout: 'A run begins within',
  humanInLoopTimeout: 'A question waits for its answer',
  defaultNodeTimeoutSeconds: 'An attempt of a step takes at most',
  defaultRetryLimit: 'Retries',
  defaultRetryDelaySeconds: 'Pause before a retry',
  defaultRetryOn: 'Errors to retry',
  nodeDefaults: 'Other limits for one kind of step',
  durability: 'The state of a run is saved',
  maxRunsAtOnce: 'Runs at once',
  rate: 'Runs that begin, at most',
  concurrency: 'Limit runs with the same key',
  class: 'Class',
  priority: 'Head start',
  onFailure: 'After a failed run, start',
  completionWebhook: 'Tell a receiver',
};

function namesOf(path: Path, schema: Schema | undefined): string {
  let inside = schema;
  let text = '';
  for (const key of path) {
    const next = partOf(inside, key);
    const isIndex = typeof key === 'number';
    const name = isIndex ? String(key + 1) : titleOf(next, key);
    text += `${text === '' ? '' : isIndex ? ' ' : ', '}${name}`;
    inside = next;
  }
  return text;
}

/** A name that the author has chosen, such as that of a header, has no title, and is told as it is. */
function titleOf(schema: Schema | undefined, key: string): string {
  if (typeof schema?.title === 'string' && schema.title !== '') return schema.title;
  return schema?.isOfAuthor === true ? key : wordsOfKey(key);
}

/** The schema of a field or of an item; of several, the first that has it. */
function partOf(schema: Schema | undefined, key: string | number): Schema | undefined {
  if (!schema) return undefined;
  const { items, properties, additionalProperties } = schema;
  if (typeof key === 'number') {
    if (isObject(items)) return items;
  } else {
    const own = isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (isObject(own)) return own;
    if (isObject(additionalProperties)) return { ...additionalProperties, title: '', isOfAuthor: true };
  }
  const members = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  return members.filter(isObject).reduce<Schema | undefined>((found, one) => found ?? partOf(one, key), undefined);
}
