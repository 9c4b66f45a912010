import { isObject } from '../../ui/is-object.ts';
import type { CodeRunner } from '../bindings/code-run.ts';
import { compile } from '../bindings/compile.ts';
import { Bindings } from '../bindings/graph.ts';
import { querySource, widgetSource } from './bound-sources.ts';
import type { PageClient, PlacedWidget, Push } from './client.ts';
import { Events } from './events.ts';
import { initialValues } from './initial-values.ts';
import { Messages } from './messages.ts';
import { type Memory, Runs } from './runs.ts';
import { IDLE, type SourceState, Sources } from './sources.ts';
import { createStore, type Store } from './store.ts';

export interface PageContent {
  /** The id of a page or a dashboard. */
  id: string;
  title: string;
  config: Values;
  widgets: readonly PlacedWidget[];
  viewer: Values;
  params: Readonly<Record<string, string>>;
}

interface Needs {
  client: PageClient;
  code: CodeRunner;
  memory: Memory;
}

type Values = Readonly<Record<string, unknown>>;

const MAX_PUSHES = 1_000;

/** All that a page shows and does while it is open, without how it is drawn. */
export class PageState {
  readonly content: PageContent;
  readonly client: PageClient;
  readonly bindings: Bindings;
  readonly sources: Sources;
  readonly runs: Runs;
  readonly messages = new Messages();
  readonly #names: ReadonlyMap<string, readonly string[]>;
  readonly #widgets: ReadonlyMap<string, PlacedWidget>;
  readonly #data = new Map<string, Store<SourceState>>();
  readonly #queries = new Map<string, Store<SourceState>>();
  readonly #methods = new Map<string, () => void>();
  readonly #exposed = new Map<string, Store<Values>>();
  readonly #entered = new Set<string>();
  readonly #events: Events;
  readonly #ends: (() => void)[] = [];

  constructor(content: PageContent, { client, code, memory }: Needs) {
    this.content = content;
    this.client = client;
    this.bindings = new Bindings(code);
    this.sources = new Sources(this.bindings, client);
    this.runs = new Runs(this.bindings, client, memory);
    this.#widgets = new Map(content.widgets.map((widget) => [widget.widgetKey, widget]));
    this.#events = new Events(this, this.#widgets);
    this.#names = namesOf(content.widgets.map(({ widgetKey }) => widgetKey));
    this.#declare();
  }

  open(): void {
    for (const widget of this.#widgets.values()) this.#begin(widget);
    if (this.#bound().some(({ type }) => type === 'listener'))
      this.#ends.push(this.client.listen((push) => this.#take(push)));
    this.sources.open();
    this.runs.open();
  }

  close(): void {
    this.#events.close();
    for (const end of this.#ends) end();
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

  /** Values of a widget that expressions of others read: `widgets.<name>.value`. */
  expose(key: string, part: Values): void {
    const store = this.exposed(key);
    const next = { ...store.get(), ...part };
    store.set(next);
    for (const name of this.#names.get(key) ?? []) this.bindings.set('widgets', name, next);
  }

  exposed(key: string): Store<Values> {
    const known = this.#exposed.get(key) ?? createStore<Values>({});
    this.#exposed.set(key, known);
    return known;
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

  /** The inputs of a workflow that the page leaves open, at an event. */
  async workflowInputs(alias: string, event: unknown): Promise<Values> {
    const bound = this.#bound().find((one) => one.type === 'workflow' && one.alias === alias);
    if (!bound) throw new Error(`This page has no workflow “${alias}”`);
    const { value, faults } = await this.bindings.once(isObject(bound.inputValues) ? bound.inputValues : {}, { event });
    const [fault] = faults;
    if (fault) throw new Error(`{{${fault.source}}} ${fault.message}`);
    return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) : {};
  }

  #bound(): Values[] {
    const { dataSources } = this.content.config;
    return Array.isArray(dataSources) ? dataSources.filter(isObject) : [];
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
    const [key = nameOrKey] = [...this.#names].find(([, names]) => names.includes(nameOrKey)) ?? [];
    const act = this.#methods.get(`${key} ${method}`);
    if (act) act();
    // Behind a turn of the browser, because widgets may refresh one another in a circle.
    else if (method === 'refresh') setTimeout(() => void this.refresh(key, depth + 1));
    else if (method === 'clear' || method === 'reset') this.clear(key);
    else throw new Error(`The widget “${nameOrKey}” has no method “${method}” now`);
  }

  /** Data of a listener stand among those of queries. */
  #showPushes(alias: string, data: unknown): void {
    const state: SourceState = { data, status: 'ready', isLoading: false, isStale: false, error: null };
    const store = this.#queries.get(alias) ?? createStore(state);
    store.set(state);
    this.#queries.set(alias, store);
    this.bindings.set('queries', alias, state);
  }

  #take({ channelName, data, dataOmitted, mode, limit }: Push): void {
    if (dataOmitted) return;
    for (const { alias, type, channelName: own } of this.#bound()) {
      if (type !== 'listener' || typeof alias !== 'string' || own !== channelName) continue;
      const before = this.#queries.get(alias)?.get().data;
      const all = [...(Array.isArray(before) ? before : []), data];
      this.#showPushes(alias, mode === 'append' ? all.slice(-Math.max(limit ?? MAX_PUSHES, 1)) : data);
    }
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
    const id = propertiesID(widgetKey);
    this.#ends.push(this.bindings.observe(id, () => !this.#entered.has(widgetKey) && this.#showInitial(widgetKey)));
  }

  #showInitial(key: string): boolean {
    const { value } = this.bindings.read(propertiesID(key));
    const values = initialValues(this.#widgets.get(key)?.widgetType ?? '', isObject(value) ? value : {});
    if (values) this.expose(key, values);
    return values !== undefined;
  }

  #declare(): void {
    const { config, viewer, params, id, title } = this.content;
    for (const [key, value] of Object.entries(viewer)) this.bindings.set('viewer', key, value);
    for (const [key, value] of Object.entries({ id, title, params })) this.bindings.set('page', key, value);
    const variables = Array.isArray(config.variables) ? config.variables.filter(isObject) : [];
    for (const { key, defaultValue = null } of variables)
      if (typeof key === 'string') this.bindings.compute('variables', key, defaultValue);
    for (const source of this.#bound()) this.#declareSource(source);
    for (const widget of this.#widgets.values()) this.#declareWidget(widget);
  }

  #declareSource(source: Values): void {
    const { alias, type } = source;
    if (typeof alias !== 'string') return;
    if (type === 'workflow') this.bindings.set('workflows', alias, NOT_STARTED);
    if (type === 'listener') this.#showPushes(alias, []);
    if (type !== 'query') return;
    const store = createStore(IDLE);
    this.#queries.set(alias, store);
    this.sources.add(
      querySource(source, (state) => {
        store.set(state);
        this.bindings.set('queries', alias, state);
      }),
    );
  }

  #declareWidget({ widgetKey, widgetConfig, refreshInterval, error }: PlacedWidget): void {
    this.expose(widgetKey, {});
    const { properties, dataQueries } = widgetConfig;
    this.bindings.define(propertiesID(widgetKey), isObject(properties) ? properties : {});
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
}

const NOT_STARTED = {
  instanceID: null,
  status: null,
  output: null,
  error: null,
  steps: [],
  questionID: null,
  isRunning: false,
};

export const propertiesID = (key: string) => `properties of ${key}`;
const widgetID = (key: string) => `widget ${key}`;

/** The names by which expressions read a widget: its key, and the end of the key where it is the only one with that end. */
function namesOf(keys: readonly string[]): Map<string, readonly string[]> {
  const ends = keys.map((key) => /^widget_[\da-f-]{36}_(.+)$/i.exec(key)?.[1]);
  return new Map(
    keys.map((key, at) => {
      const end = ends[at];
      const isOnly = end !== undefined && ends.filter((one) => one === end).length === 1;
      return [key, isOnly ? [key, end] : [key]];
    }),
  );
}
