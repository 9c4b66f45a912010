import type { Sample, SampleItem } from './read.ts';

/** Also code of the console, whose pages install samples themselves: it imports types alone. */

export interface ChosenDatasource {
  id: string;
  datasourceType: string;
}

/** The items with the datasources that were chosen for what the sample needs, by the names of the needs. */
export function withDatasources(
  { name, items, needs }: Sample,
  chosen: Readonly<Record<string, ChosenDatasource>>,
): SampleItem[] {
  let prepared: readonly SampleItem[] = items;
  for (const need of needs) {
    if (need.kind !== 'datasource') continue;
    const source = chosen[need.name];
    if (!source) throw new Error(`The sample ${name} needs a datasource: ${need.title}`);
    if (!need.types.includes(source.datasourceType))
      throw new Error(
        `${need.title}: expected a datasource of the type ${need.types.join(' or ')}, received ${source.datasourceType}`,
      );
    prepared = prepared.map((item) => withSource(item, need.id, source));
  }
  return prepared.map(withoutVariants);
}

function withSource(item: SampleItem, key: string, { id, datasourceType }: ChosenDatasource): SampleItem {
  if (item.type !== 'dataQuery' || item.payload.datasourceID !== key) return item;
  const variant = item.variants?.find((one) => one.datasourceType === datasourceType);
  return { ...item, payload: { ...item.payload, ...variant, datasourceID: id } };
}

/** The API does not know them. */
function withoutVariants(item: SampleItem): SampleItem {
  if (item.type !== 'dataQuery') return item;
  const { variants: _, ...own } = item;
  return own;
}

/** Replaces texts, wherever they stand in a value. */
export function replaced<T extends object>(value: T, texts: ReadonlyMap<string, string>): T {
  let json = JSON.stringify(value);
  for (const [from, to] of texts) json = json.replaceAll(from, to);
  // Only texts within it have changed.
  return JSON.parse(json) as T;
}

const titles = {
  datasource: 'datasourceTitle',
  dataQuery: 'dataQueryTitle',
  workflow: 'title',
  cronJob: 'cronJobTitle',
  listener: 'listenerTitle',
  widget: 'widgetTitle',
  appPage: 'appPageTitle',
} as const;

/**
 * The sample as one more of its kind, with keys of its own, and the number in its titles, tables and variables, so that it shares
 * nothing with one that is installed already. `newKey` makes a key.
 */
export function numbered(sample: Sample, number: number, newKey: () => string): Sample {
  const { items, variables } = sample;
  const keys = new Map(items.map(({ id }) => [id, newKey()]));
  const own = replaced(sample, keys);
  const text = JSON.stringify({ ...own, name: undefined });
  const names = new Map(variables.map(({ name }) => [name, `${name}${number}`]));
  const ofItems = new Map(items.flatMap((item) => quotedTitle(item, number)));
  const renamed = text
    .replace(/\bsample_\w+/g, (name) => `${name}_${number}`)
    .replace(/\b\w+\b/g, (word) => names.get(word) ?? word)
    .replace(/“[^”]+”/g, (quoted) => ofItems.get(quoted) ?? quoted);
  const copy = { ...(JSON.parse(renamed) as Omit<Sample, 'name'>), name: sample.name };
  return { ...copy, title: withNumber(copy.title, number), items: copy.items.map((item) => retitled(item, number)) };
}

/** Texts beside the graph name other assets in such quotes. */
function quotedTitle(item: SampleItem, number: number): [string, string][] {
  const title = titleOf(item);
  return title === undefined ? [] : [[`“${title}”`, `“${withNumber(title, number)}”`]];
}

/** Undefined for a file, which has a name. */
export function titleOf(item: SampleItem): string | undefined {
  return item.type === 'file' ? undefined : (Reflect.get(item.payload, titles[item.type]) as string);
}

export function withNumber(title: string, number: number): string {
  return number === 1 ? title : `${title} ${number}`;
}

function retitled(item: SampleItem, number: number): SampleItem {
  if (item.type === 'file') return item;
  const title = withNumber(titleOf(item) ?? '', number);
  return { ...item, payload: { ...item.payload, [titles[item.type]]: title } } as SampleItem;
}
