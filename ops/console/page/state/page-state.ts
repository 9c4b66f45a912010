import { isObject } from '../../ui/is-object.ts';
import type { CodeRunner } from '../bindings/code-run.ts';
import { compile } from '../bindings/compile.ts';
import { Bindings } from '../bindings/graph.ts';
import { isSame } from '../bindings/is-same.ts';
import { querySource, widgetSource } from './bound-sources.ts';
import type { PageClient, PlacedWidget } from './client.ts';
import { differences } from './differences.ts';
import { Events } from './events.ts';
import { initialValues } from './initial-values.ts';
import { Messages } from './messages.ts';
import { listIn, NOT_STARTED, type PageContent, propertiesID, widgetID } from './page-content.ts';
import { Pushes } from './pushes.ts';
import { type Memory, Runs } from './runs.ts';
import { IDLE, type SourceState } from './source.ts';
import { EDITED_PAUSE_MS, Sources } from './sources.ts';
import { createStore, type Store } from './store.ts';
import { WidgetValues } from './widget-values.ts';

interface Needs {
  client: PageClient;
  code: CodeRunner;
  memory: Memory;
  /** Its events do nothing: it is edited. */
  isStill?: boolean;
}

type Values = Readonly<Record<string, unknown>>;

/** All that a page shows and does while it is open, without how it is drawn. */
export class PageState {
  readonly content: Store<PageContent>;
  readonly client: PageClient;
  readonly bindings: Bindings;
  readonly sources: Sources;
  readonly runs: Runs;
  readonly messages = new Messages();
  #widgets: ReadonlyMap<string, PlacedWidget> = new Map();
  readonly #data = new Map<string, Store<SourceState>>();
  readonly #queries = new Map<string, Store<SourceState>>();
  readonly #methods = new Map<string, () => void>();
  readonly #values: WidgetValues;
  readonly #entered = new Set<string>();
  readonly #events: Events;
  readonly #pushes: Pushes;
  /** End what follows the initial values of widgets. */
  readonly #followed = new Map<string, () => void>();
  #isOpen = false;

  constructor(content: PageContent, { client, code, memory, isStill = false }: Needs) {
    this.content = createStore(content);
    this.client = client;
    this.bindings = new Bindings(code);
    this.sources = new Sources(this.bindings, client, isStill ? EDITED_PAUSE_MS : 0);
    this.runs = new Runs(this.bindings, client, memory);
    this.#values = new WidgetValues(this.bindings);
    this.#events = new Events(this, (key) => (isStill ? undefined : this.widget(key)));
    this.#pushes = new Pushes({
      client,
      bound: () => this.#bound(),
      stateOf: (alias) => this.#queries.get(alias)?.get(),
      onState: (alias, state) => this.#showPushes(alias, state),
    });
    this.#declare({ config: {}, widgets: [] }, content);
  }

  open(): void {
    this.#isOpen = true;
    for (const widget of this.#widgets.values()) this.#begin(widget);
    this.#pushes.open();
    this.sources.open();
    this.runs.open();
  }

  /** The page with another content, while it is edited. What stays the same keeps its values and its data. */
  update(next: PageContent): void {
    const before = this.content.get();
    if (next === before) return;
    this.#declare(before, next);
    this.content.set(next);
    this.#pushes.open();
  }

  close(): void {
    this.#events.close();
    this.messages.form.get()?.leave();
    this.#pushes.close();
    for (const end of this.#followed.values()) end();
    this.sources.close();
    this.runs.close();
  }

  widget(key: string): PlacedWidget | undefined {
    return this.#widgets.get(key);
  }

  /** The data of the queries that a widget binds itself; undefined if it binds none. */
  dataOf(key: string): Store<SourceState> | undefined {
    return this.#data.get(key);
  }

  query(alias: string): Store<SourceState> | undefined {
    return this.#queries.get(alias);
  }

  /** Values of a widget that expressions of others read. */
  expose(key: string, part: Values): void {
    this.#values.expose(key, part);
  }

  exposed(key: string): Store<Values> {
    return this.#values.of(key);
  }

  /** Sets what a person has entered: from now on, the initial value of the widget has no effect. */
  enter(key: string, part: Values): void {
    this.#entered.add(key);
    this.expose(key, part);
  }

  /** Back to the values before anything was entered. */
  clear(key: string): void {
    this.#entered.delete(key);
    this.#showInitial(key);
  }

  setVariable(key: string, value: unknown): void {
    this.bindings.set('variables', key, value);
  }

  /** The alias under which the page binds an asset. */
  aliasOf(type: 'query' | 'workflow', id: string): string | undefined {
    const field = `${type}ID`;
    return this.#bound().find((one) => one.type === type && one[field] === id)?.alias as string | undefined;
  }

  /** The inputs that the page gives a workflow, with their expressions. */
  workflowInputs(alias: string): Values {
    const bound = this.#bound().find((one) => one.type === 'workflow' && one.alias === alias);
    if (!bound) throw new Error(`This page has no workflow “${alias}”`);
    return isObject(bound.inputValues) ? bound.inputValues : {};
  }

  #bound(): Values[] {
    return listIn(this.content.get().config.dataSources);
  }

  /** A method of a widget that actions call, as long as the widget is shown. */
  offer(key: string, method: string, act: () => void): () => void {
    const id = `${key} ${method}`;
    this.#methods.set(id, act);
    return () => {
      if (this.#methods.get(id) === act) this.#methods.delete(id);
    };
  }

  callMethod(nameOrKey: string, method: string, depth = 0): void {
    const key = this.#values.keyOf(nameOrKey);
    const act = this.#methods.get(`${key} ${method}`);
    if (act) act();
    // Behind a turn of the browser, because widgets may refresh one another in a circle.
    else if (method === 'refresh') setTimeout(() => void this.refresh(key, depth + 1));
    else if (method === 'clear' || method === 'reset') this.clear(key);
    else throw new Error(`The widget “${nameOrKey}” has no method “${method}” now`);
  }

  /** Data of a listener stand among those of queries. */
  #showPushes(alias: string, state: SourceState): void {
    const store = this.#queries.get(alias) ?? createStore(state);
    store.set(state);
    this.#queries.set(alias, store);
    this.bindings.set('queries', alias, state);
  }

  /** Queries and listeners that the properties of a widget name. Of those that run by actions, the action tells how they end. */
  namedQueries(key: string): string[] {
    const { names } = compile(this.#widgets.get(key)?.widgetConfig.properties);
    return names.flatMap(({ root, key: alias }) =>
      root === 'queries' && alias !== null && !this.sources.isManual(alias) ? [alias] : [],
    );
  }

  /** Reads the data of a widget again: of its own queries, and of those that its properties name. */
  async refresh(key: string, depth = 0): Promise<void> {
    for (const id of [widgetID(key), ...this.namedQueries(key)]) this.sources.readAgain(id);
    await this.fire(key, 'onRefresh', {}, depth);
  }

  /** Does what an event of a widget leads to. Answers whether all has been done. */
  fire(key: string, name: string, event: Values = {}, depth = 0): Promise<boolean> {
    return this.#events.fire(key, name, { event, depth });
  }

  hasActions(key: string, name: string): boolean {
    return this.#events.has(key, name);
  }

  /** The initial values of a widget follow their expressions until a person enters others. */
  #begin({ widgetKey }: PlacedWidget): void {
    if (!this.#showInitial(widgetKey)) return;
    const follow = () => !this.#entered.has(widgetKey) && this.#showInitial(widgetKey);
    this.#followed.set(widgetKey, this.bindings.observe(propertiesID(widgetKey), follow));
  }

  #showInitial(key: string): boolean {
    const { value } = this.bindings.read(propertiesID(key));
    const values = initialValues(this.#widgets.get(key)?.widgetType ?? '', isObject(value) ? value : {});
    if (values) this.expose(key, values);
    return values !== undefined;
  }

  /** Declares what differs between two contents. */
  #declare(before: Pick<PageContent, 'config' | 'widgets'>, next: PageContent): void {
    const { config, widgets, viewer, params, id, title } = next;
    for (const [key, value] of Object.entries(viewer)) this.bindings.set('viewer', key, value);
    for (const [key, value] of Object.entries({ id, title, params })) this.bindings.set('page', key, value);
    const variables = differences(listIn(before.config.variables), listIn(config.variables), ({ key }) => String(key));
    for (const { key } of variables.removed) this.bindings.undeclare('variables', String(key));
    for (const { key, defaultValue = null } of variables.put)
      if (typeof key === 'string') this.bindings.compute('variables', key, defaultValue);
    const sources = differences(
      listIn(before.config.dataSources),
      listIn(config.dataSources),
      ({ type, alias }) => `${type} ${alias}`,
    );
    for (const { alias } of sources.removed) this.#undeclareSource(String(alias));
    for (const source of sources.put) this.#declareSource(source);
    this.#declareWidgets(before.widgets, widgets);
  }

  #declareWidgets(before: readonly PlacedWidget[], widgets: readonly PlacedWidget[]): void {
    const { removed, put } = differences(before, widgets, ({ widgetKey }) => widgetKey);
    if (removed.length === 0 && put.length === 0) return;
    const old = this.#widgets;
    this.#widgets = new Map(widgets.map((widget) => [widget.widgetKey, widget]));
    for (const { widgetKey } of removed) this.#undeclareWidget(widgetKey);
    this.#values.name([...this.#widgets.keys()]);
    for (const widget of put) {
      this.#declareWidget(widget, old.get(widget.widgetKey));
      if (this.#isOpen && !old.has(widget.widgetKey)) this.#begin(widget);
    }
  }

  #declareSource(source: Values): void {
    const { alias, type } = source;
    if (typeof alias !== 'string') return;
    if (type === 'workflow') this.bindings.set('workflows', alias, NOT_STARTED);
    if (type === 'listener') this.#pushes.begin(alias);
    if (type !== 'query' && type !== 'runs') return;
    const store = this.#queries.get(alias) ?? createStore(IDLE);
    this.#queries.set(alias, store);
    this.sources.add(
      querySource(source, (state) => {
        store.set(state);
        this.bindings.set('queries', alias, state);
      }),
    );
  }

  #undeclareSource(alias: string): void {
    this.sources.remove(alias);
    this.#queries.delete(alias);
    this.bindings.undeclare('queries', alias);
    this.bindings.undeclare('workflows', alias);
  }

  #declareWidget(widget: PlacedWidget, old: PlacedWidget | undefined): void {
    const { widgetKey, widgetConfig, refreshInterval, error } = widget;
    const { properties, dataQueries } = widgetConfig;
    if (!old || !isSame(old.widgetConfig.properties, properties))
      this.bindings.define(propertiesID(widgetKey), isObject(properties) ? properties : {});
    const isSameData = isSame(old?.widgetConfig.dataQueries, dataQueries) && old?.refreshInterval === refreshInterval;
    if (old && isSameData) return;
    this.sources.remove(widgetID(widgetKey));
    this.#data.delete(widgetKey);
    if (error || !Array.isArray(dataQueries) || dataQueries.length === 0) return;
    const store = createStore(IDLE);
    this.#data.set(widgetKey, store);
    this.sources.add({
      ...widgetSource({ widgetKey, dataQueries, refreshInterval }, (state) => {
        store.set(state);
        this.expose(widgetKey, { data: state.data });
      }),
      id: widgetID(widgetKey),
    });
  }

  #undeclareWidget(key: string): void {
    this.sources.remove(widgetID(key));
    this.bindings.remove(propertiesID(key));
    this.#followed.get(key)?.();
    for (const known of [this.#followed, this.#data, this.#entered]) known.delete(key);
    this.#values.remove(key);
  }
}
