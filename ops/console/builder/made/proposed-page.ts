import { newID } from '../../client/new-id.ts';
import { isObject } from '../../ui/is-object.ts';
import { isSame, type PageDocument, type Values, type WidgetDraft } from '../document.ts';
import { addWidget, keysOf, nameOf, removeWidget, setConfig, setPage, setWidget } from '../edits.ts';
import { type LayoutNode, withNode } from '../layout-edits.ts';
import { type Part, type Plan, Planning } from './plan.ts';

/** A page that a model proposes, as the API has checked its form. */
export interface PageProposal {
  appPageID: string | null;
  title?: string;
  summary: string;
  sources: readonly ProposedSource[];
  widgets: readonly ProposedWidget[];
  removedWidgets: readonly string[];
  rows?: readonly (readonly { widget: string; span?: number }[])[];
}

interface ProposedSource extends Values {
  alias: string;
  query?: { title: string; dataQueryOptions: Values };
  dataQueryID?: string;
  workflowID?: string;
}

interface ProposedWidget {
  name: string;
  type: string;
  title: string;
  properties: Values;
  events?: Values;
}

/** Undefined if it was cut, or comes from a version that knew other fields. */
export function pageProposalIn(output: Values): PageProposal | undefined {
  const { appPageID, summary, sources, widgets, removedWidgets } = output;
  const isWhole = typeof summary === 'string' && [sources, widgets, removedWidgets].every(Array.isArray);
  // Safe: the API has parsed the rest.
  return isWhole && (appPageID === null || typeof appPageID === 'string')
    ? (output as unknown as PageProposal)
    : undefined;
}

/** All of a new page. It is a draft, until a person publishes it. */
export function planOfProposal(proposal: PageProposal, nextKey: () => string): Plan {
  const planning = new Planning(nextKey);
  for (const { alias, query, dataQueryID, workflowID, ...source } of proposal.sources)
    if (query) planning.query(alias, query.title, { options: query.dataQueryOptions, ...source });
    else if (workflowID) planning.bind(alias, { type: 'workflow', id: workflowID }, source);
    else if (dataQueryID) planning.bind(alias, { type: 'dataQuery', id: dataQueryID }, source);
  const parts = new Map<string, (span?: number) => Part>();
  for (const { name, type, ...words } of proposal.widgets) {
    const part = planning.widget(name, type, words);
    parts.set(name, (span) => ({ ...part, ...(span !== undefined && { span }) }));
  }
  const children = placed(proposal, (name, span) => parts.get(name)?.(span)).map((row) =>
    row.length === 1 && row[0] ? row[0] : planning.row(...row),
  );
  const { page, ...plan } = planning.plan(proposal.title ?? 'New page', proposal.summary, children);
  return { ...plan, page: { ...page, isDraft: true } };
}

/** The added widgets in rows: as they are proposed, and those without a place below one another. */
function placed<T>(
  { rows = [], widgets }: Pick<PageProposal, 'rows' | 'widgets'>,
  partOf: (name: string, span: number | undefined) => T | undefined,
): T[][] {
  const named = new Set<string>();
  const given = rows.map((row) =>
    row.flatMap(({ widget, span }) => {
      const part = named.has(widget) ? undefined : partOf(widget, span);
      named.add(widget);
      return part === undefined ? [] : [part];
    }),
  );
  const others = widgets.flatMap(({ name }) => {
    const part = named.has(name) ? undefined : partOf(name, undefined);
    return part === undefined ? [] : [[part]];
  });
  return [...given.filter((row) => row.length > 0), ...others];
}

/** The page with the change in it. New queries have the ids that they are created with; before that, those of their aliases. */
export function withProposal(
  document: PageDocument,
  proposal: PageProposal,
  queryIDs: ReadonlyMap<string, string> = new Map(),
): PageDocument {
  const { title, removedWidgets, sources } = proposal;
  let next = title === undefined ? document : setPage({ title })(document);
  for (const name of removedWidgets) {
    const key = keyOf(document, name);
    if (key !== undefined) next = removeWidget(key)(next);
  }
  next = withSources(next, sources, queryIDs);
  const added = new Map<string, WidgetDraft>();
  for (const widget of proposal.widgets) {
    const key = keyOf(document, widget.name);
    if (key !== undefined && next.widgets[key]?.type === widget.type) next = withChanged(next, key, widget);
    else added.set(widget.name, newWidget(widget));
  }
  return withWidgets(next, proposal, added);
}

function keyOf(document: PageDocument, name: string): string | undefined {
  return keysOf(document).find((key) => nameOf(document, key) === name);
}

function newWidget({ name, type, title, properties, events }: ProposedWidget): WidgetDraft {
  const config = { properties, ...(events && { events }) };
  return { key: `widget_${newID()}_${name}`, title, type, refreshInterval: 0, config };
}

function withChanged(document: PageDocument, key: string, { title, properties, events }: ProposedWidget): PageDocument {
  const before = document.widgets[key];
  const config = { ...before?.config, properties, ...(events && { events }) };
  const isSameWidget = before?.title === title && isSame(before.config, config);
  return isSameWidget ? document : setWidget(key, { title, config })(document);
}

function withWidgets(
  document: PageDocument,
  proposal: PageProposal,
  added: ReadonlyMap<string, WidgetDraft>,
): PageDocument {
  let next = document;
  for (const row of placed(proposal, (name, span) => {
    const widget = added.get(name);
    return widget && { widget, span };
  })) {
    const [only] = row;
    if (row.length === 1 && only) {
      next = addWidget(only.widget)(next);
      continue;
    }
    const children: LayoutNode[] = row.map(({ widget: { key }, span }) => ({
      ...{ id: newID(), type: 'widget', widgetKey: key },
      ...(span !== undefined && { span }),
    }));
    const widgets = Object.fromEntries(row.map(({ widget }) => [widget.key, widget]));
    const config = withNode(next.config, { id: newID(), type: 'row', children });
    next = {
      ...next,
      widgets: { ...next.widgets, ...widgets },
      config: { ...config, widgets: [...keysOf(next), ...Object.keys(widgets)] },
    };
  }
  return next;
}

function withSources(
  document: PageDocument,
  sources: readonly ProposedSource[],
  queryIDs: ReadonlyMap<string, string>,
): PageDocument {
  if (sources.length === 0) return document;
  const before = Array.isArray(document.config.dataSources) ? document.config.dataSources.filter(isObject) : [];
  const given = new Map(
    sources.map(({ query, dataQueryID, workflowID, ...source }) => {
      const target = workflowID
        ? { type: 'workflow', workflowID }
        : { type: 'query', queryID: query ? (queryIDs.get(source.alias) ?? source.alias) : dataQueryID };
      return [source.alias, { ...source, ...target }];
    }),
  );
  const retained = before.map((one) => {
    const next = given.get(String(one.alias));
    given.delete(String(one.alias));
    return next ?? one;
  });
  const dataSources = [...retained, ...given.values()];
  return isSame(before, dataSources) ? document : setConfig({ dataSources })(document);
}
