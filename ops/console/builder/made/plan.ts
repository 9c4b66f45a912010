import type { Schemas } from '../../client/types.ts';

type Values = Readonly<Record<string, unknown>>;
type Item = Schemas['Bundle']['items'][number];

interface MadeQuery {
  id: string;
  title: string;
  /** For the tenant's own database. */
  options: Values;
}

interface MadeWidget {
  id: string;
  /** `widget_<id>_<name>`, of which expressions use the name. */
  key: string;
  title: string;
  type: string;
  config: { properties: Values; events?: Values };
}

/** Part of a layout. */
export type Part = Values & { id: string };

/** All that a page consists of, before it is created. */
export interface Plan {
  queries: readonly MadeQuery[];
  widgets: readonly MadeWidget[];
  page: { id: string; title: string; description: string; config: Values; isDraft?: boolean };
  /** Queries and workflows of the tenant that the page binds. */
  binds: readonly { type: 'dataQuery' | 'workflow'; id: string }[];
}

interface WidgetWords {
  title: string;
  properties: Values;
  events?: Values;
}

/** Collects the parts of a page while it is planned. `newID` makes keys. */
export class Planning {
  readonly #newID: () => string;
  readonly #queries: MadeQuery[] = [];
  readonly #widgets: MadeWidget[] = [];
  readonly #sources: Values[] = [];
  readonly #binds: Plan['binds'][number][] = [];
  #parts = 0;

  constructor(newID: () => string) {
    this.#newID = newID;
  }

  /** A new query, bound by the page under an alias. */
  query(alias: string, title: string, { options, ...source }: { options: Values } & Values): void {
    const id = this.#newID();
    this.#queries.push({ id, title, options });
    this.#sources.push({ alias, type: 'query', queryID: id, ...source });
  }

  /** A query or a workflow of the tenant, bound by the page under an alias. */
  bind(alias: string, one: Plan['binds'][number], source: Values): void {
    this.#binds.push(one);
    const target =
      one.type === 'workflow' ? { type: 'workflow', workflowID: one.id } : { type: 'query', queryID: one.id };
    this.#sources.push({ alias, ...target, ...source });
  }

  /** A widget, and the part of the layout that shows it. */
  widget(name: string, type: string, { title, ...config }: WidgetWords, more: Values = {}): Part {
    const id = this.#newID();
    const key = `widget_${id}_${name}`;
    this.#widgets.push({ id, key, title, type, config });
    return { id: this.#partID(), type: 'widget', widgetKey: key, ...more };
  }

  row(...children: readonly Part[]): Part {
    return { id: this.#partID(), type: 'row', children };
  }

  column(children: readonly Part[], more: Values = {}): Part {
    return { id: this.#partID(), type: 'column', children, ...more };
  }

  plan(title: string, description: string, children: readonly Part[]): Plan {
    const config = {
      layoutVersion: 2,
      layout: { id: 'root', type: 'column', children },
      widgets: this.#widgets.map(({ key }) => key),
      dataSources: this.#sources,
      variables: [],
    };
    return {
      ...{ queries: this.#queries, widgets: this.#widgets, binds: this.#binds },
      page: { id: this.#newID(), title, description, config },
    };
  }

  #partID(): string {
    this.#parts += 1;
    return `part${this.#parts}`;
  }
}

/** The plan as a bundle, which the API creates whole or not at all. Sent again, it creates nothing more. */
export function bundleOf({ queries, widgets, page, binds }: Plan): Schemas['Bundle'] {
  const items = [
    ...queries.map(queryItem),
    ...widgets.map(({ id, title, type, config }) => ({
      ...{ type: 'widget', id, dependencies: [] },
      payload: { widgetTitle: title, widgetType: type, widgetConfig: config },
    })),
    {
      ...{ type: 'appPage', id: page.id },
      payload: {
        ...{ appPageTitle: page.title, appPageDescription: page.description, appPageConfig: page.config },
        isDraft: page.isDraft ?? false,
      },
      dependencies: [
        ...queries.map(({ id }) => ({ type: 'dataQuery', id })),
        ...widgets.map(({ id }) => ({ type: 'widget', id })),
        ...binds,
      ],
    },
  ];
  // Plain values become what the API parses.
  return { bundleVersion: 1, generator: 'gantry', items: items as Item[] };
}

/** Queries alone, for a page that is there already. */
export function bundleOfQueries(queries: Plan['queries']): Schemas['Bundle'] {
  return { bundleVersion: 1, generator: 'gantry', items: queries.map(queryItem) as Item[] };
}

function queryItem({ id, title, options }: MadeQuery) {
  return {
    ...{ type: 'dataQuery', id, dependencies: [] },
    payload: { dataQueryTitle: title, datasourceType: 'tenantdb', dataQueryOptions: options },
  };
}

/** A name behind the dot of an expression, or in brackets. */
export function pathTo(root: string, name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `{{${root}.${name}}}` : `{{${root}[${JSON.stringify(name)}]}}`;
}

/** A name of a column or an input as a label: `customer_name` and `customerName` are “Customer name”. */
export function labelOf(name: string): string {
  const words = name
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .replaceAll(/[_\s]+/g, ' ')
    .trim();
  if (words === '') return name;
  const [first = '', ...rest] = words.split(' ');
  const lower = rest.map((word) => (/^[A-Z][a-z]+$/.test(word) ? word.toLowerCase() : word));
  return asWords([first.charAt(0).toUpperCase() + first.slice(1), ...lower].join(' '));
}

/** A page takes two braces for the beginning of an expression. */
export function hasTemplate(value: unknown): boolean {
  return typeof value === 'string' && value.includes('{{');
}

/** Words of a person as a property of a widget, where they are no expression. */
export function asWords(text: string): string {
  return text.replaceAll('{{', '{ {');
}
