import { isObject } from '../../ui/is-object.ts';
import type { Bindings } from '../bindings/graph.ts';
import type { Answer, PageClient, Refused } from './client.ts';
import { IDLE, newReading, type Reading, type Source, type SourceState } from './source.ts';

type Values = Readonly<Record<string, unknown>>;

/** Typing a word must not lead to a request for each letter. */
const PAUSE_MS = 150;
/** A page reads again at most so often. */
const LEAST_MS = 1_000;
/** A source that is being edited changes with each letter: it is read once nothing has changed for so long. */
export const EDITED_PAUSE_MS = 1_000;

interface Sent {
  readings: ReadonlySet<Reading>;
  abort: AbortController;
}

/** Reads the data of a page: what is wanted at the same moment, by one request. */
export class Sources {
  readonly #bindings: Bindings;
  readonly #client: Pick<PageClient, 'read' | 'isInView'>;
  readonly #readings = new Map<string, Reading>();
  readonly #abort = new AbortController();
  #due = new Set<Reading>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The moment at which what is due is sent, however often more of it comes. */
  #latest = Number.POSITIVE_INFINITY;
  /** Requests that have not ended. */
  readonly #sent = new Set<Sent>();
  readonly #pauseMs: number;
  #isOpen = false;

  /** A source that is added to an open page is read after the pause. */
  constructor(bindings: Bindings, client: Pick<PageClient, 'read' | 'isInView'>, pauseMs = 0) {
    this.#bindings = bindings;
    this.#client = client;
    this.#pauseMs = pauseMs;
  }

  /** A second one with the same id takes the place of the first. */
  add(source: Source): void {
    this.remove(source.id);
    const reading = newReading(source);
    this.#readings.set(source.id, reading);
    source.onState(IDLE);
    this.#bindings.define(inputsID(source.id), source.inputs);
    this.#bindings.define(
      triggerID(source.id),
      source.refreshOn.map((name) => `{{${name}}}`),
    );
    if (this.#isOpen) this.#begin(reading, this.#pauseMs);
  }

  remove(id: string): void {
    const reading = this.#readings.get(id);
    if (!reading) return;
    reading.isRemoved = true;
    this.#readings.delete(id);
    this.#due.delete(reading);
    clearTimeout(reading.timer);
    for (const { readings, abort } of this.#sent) if ([...readings].every(({ isRemoved }) => isRemoved)) abort.abort();
    for (const end of reading.ends) end();
    this.#bindings.remove(inputsID(id));
    this.#bindings.remove(triggerID(id));
    const { onEnd } = reading;
    reading.onEnd = undefined;
    onEnd?.({ ...IDLE, status: 'failed', error: { code: 'GONE', message: 'The query was changed meanwhile' } });
  }

  /** Reads what is read at first, and begins to follow changes. */
  open(): void {
    this.#isOpen = true;
    for (const reading of this.#readings.values()) this.#begin(reading, 0);
  }

  #begin(reading: Reading, pauseMs: number): void {
    const { id, isAtOpening, isReactive, refreshOn } = reading.source;
    this.#bindings.read(inputsID(id));
    this.#bindings.read(triggerID(id));
    const again = () => this.#wantAgain(reading, PAUSE_MS);
    const onInputs = isReactive ? again : () => reading.isDeferred && this.#wantAgain(reading, 0);
    reading.ends = [
      this.#bindings.observe(inputsID(id), onInputs),
      ...(refreshOn.length > 0 ? [this.#bindings.observe(triggerID(id), again)] : []),
    ];
    if (!isAtOpening) return;
    if (pauseMs === 0) this.#want(reading, 0);
    else reading.timer = setTimeout(() => this.#want(reading, 0), pauseMs);
  }

  close(): void {
    this.#isOpen = false;
    this.#abort.abort();
    clearTimeout(this.#timer);
    for (const { timer, ends } of this.#readings.values()) {
      clearTimeout(timer);
      for (const end of ends) end();
    }
  }

  /** Whether it runs by actions alone. */
  isManual(id: string): boolean {
    return this.#readings.get(id)?.source.isAtOpening === false;
  }

  /** Reads one again for an action, with these values for inputs that the page leaves open. Answers how that request has ended. */
  async run(id: string, { given, event }: { given: Values; event: unknown }): Promise<SourceState> {
    const reading = this.#readings.get(id);
    if (!reading) throw new Error(`This page has no query “${id}”`);
    reading.waiting += 1;
    const own = Object.entries(reading.source.inputs).filter(([key]) => !Object.hasOwn(given, key));
    // Inputs are those of the moment of the event, also where another request is ahead.
    const inputs = this.#bindings.once(Object.fromEntries(own), { event });
    const ended = reading.last.then(async () => {
      const { value, ...more } = await inputs;
      reading.given = { ...more, value: { ...(isObject(value) && value), ...given } };
      return new Promise<SourceState>((resolve) => {
        reading.onEnd = resolve;
        this.#want(reading, 0);
      });
    });
    reading.last = ended;
    return ended;
  }

  /** Reads one again as it is read at opening. */
  readAgain(id: string): void {
    const reading = this.#readings.get(id);
    if (reading?.source.isAtOpening) this.#wantAgain(reading, 0);
  }

  refreshAll(): void {
    for (const reading of this.#readings.values()) if (reading.source.isAtOpening) this.#wantAgain(reading, 0);
  }

  /** The answer for which an action waits must be that of its own request. */
  #wantAgain(reading: Reading, pauseMs: number): void {
    if (reading.waiting > 0) reading.isWantedAgain = true;
    else this.#want(reading, pauseMs);
  }

  #want(reading: Reading, pauseMs: number): void {
    if (!this.#isOpen || reading.isRemoved) return;
    reading.asked += 1;
    reading.isDeferred = false;
    clearTimeout(reading.timer);
    this.#due.add(reading);
    this.#show(reading, {
      ...reading.state,
      status: 'loading',
      isLoading: true,
      isStale: reading.state.data !== undefined,
    });
    const now = Date.now();
    this.#latest = Math.min(this.#latest, now + (pauseMs === 0 ? 0 : LEAST_MS));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(), Math.max(Math.min(pauseMs, this.#latest - now), 0));
  }

  #send(): void {
    this.#latest = Number.POSITIVE_INFINITY;
    const due = [...this.#due];
    this.#due = new Set();
    const sent = due.flatMap((reading) => {
      const { value, faults, isPending } = reading.given ?? this.#bindings.read(inputsID(reading.source.id));
      reading.given = undefined;
      if (isPending) {
        reading.isDeferred = true;
        return [];
      }
      const [fault] = faults;
      if (fault) {
        this.#fail(reading, {
          code: 'INPUT',
          message: `An input cannot be computed: {{${fault.source}}} ${fault.message}`,
        });
        return [];
      }
      const inputs = isObject(value) ? withoutUndefined(value) : {};
      return [{ reading, asked: reading.asked, wanted: reading.source.wanted(inputs) }];
    });
    if (sent.length === 0) return;
    const onAnswer = (answer: Answer) => {
      const one = sent[answer.at];
      if (!one || one.asked <= one.reading.shown) return;
      if (one.asked === one.reading.asked) this.#take(one.reading, answer);
      else this.#takeOlder(one.reading, one.asked, answer);
    };
    const request = { readings: new Set(sent.map(({ reading }) => reading)), abort: new AbortController() };
    this.#sent.add(request);
    this.#client
      .read(
        sent.map(({ wanted }) => wanted),
        onAnswer,
        AbortSignal.any([this.#abort.signal, request.abort.signal]),
      )
      .then(
        () => this.#failRest(sent, 'The server sent no answer'),
        (error) => this.#failRest(sent, error instanceof Error ? error.message : String(error), error),
      )
      .finally(() => this.#sent.delete(request));
  }

  #failRest(sent: readonly { reading: Reading; asked: number }[], message: string, error?: unknown): void {
    if (this.#abort.signal.aborted) return;
    const code = isObject(error) && typeof error.code === 'string' ? error.code : 'UNAVAILABLE';
    for (const { reading, asked } of sent)
      if (asked === reading.asked && reading.state.status === 'loading') this.#fail(reading, { code, message });
  }

  #take(reading: Reading, answer: Answer): void {
    if (answer.error) return this.#fail(reading, answer.error);
    this.#show(reading, { ...answer.answer, status: 'ready', isLoading: false, isStale: false, error: null });
    this.#ended(reading);
  }

  /** Newer data are on their way. Where that is always so, a widget would never have any without these. */
  #takeOlder(reading: Reading, asked: number, answer: Answer): void {
    if (answer.error || !reading.state.isLoading) return;
    reading.shown = asked;
    this.#show(reading, { ...reading.state, ...answer.answer, isStale: true, error: null });
  }

  #fail(reading: Reading, error: Refused): void {
    const data = error.code === 'PERMISSION_DENIED' ? undefined : reading.state.data;
    this.#show(reading, {
      ...reading.state,
      data,
      status: 'failed',
      isLoading: false,
      isStale: data !== undefined,
      error,
    });
    this.#ended(reading);
  }

  #ended(reading: Reading): void {
    if (reading.isRemoved) return;
    reading.shown = reading.asked;
    const { onEnd } = reading;
    reading.onEnd = undefined;
    if (onEnd) {
      reading.waiting -= 1;
      onEnd(reading.state);
    }
    if (reading.waiting === 0 && reading.isWantedAgain) {
      reading.isWantedAgain = false;
      return this.#want(reading, 0);
    }
    const { everyMs } = reading.source;
    // A refusal is an entry of the audit trail each time.
    if (everyMs <= 0 || reading.state.error?.code === 'PERMISSION_DENIED') return;
    reading.timer = setTimeout(() => this.#tick(reading), Math.max(everyMs, LEAST_MS));
  }

  /** A page in the background waits until it is looked at. */
  #tick(reading: Reading): void {
    if (this.#client.isInView()) this.#wantAgain(reading, 0);
    else reading.timer = setTimeout(() => this.#tick(reading), LEAST_MS);
  }

  #show(reading: Reading, state: SourceState): void {
    if (reading.isRemoved) return;
    reading.state = state;
    reading.source.onState(state);
  }
}

const inputsID = (id: string) => `inputs of ${id}`;
const triggerID = (id: string) => `trigger of ${id}`;

function withoutUndefined(value: Values): Values {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}
