import { LRUCache } from 'lru-cache';
import { createDynamicLimit } from '#shared/concurrency/dynamic-limit.ts';
import { createFairQueue } from '#shared/concurrency/fair-queue.ts';
import { currentPermit, currentReservation, flowOf } from '#shared/concurrency/work-context.ts';
import { jsonOf } from '#shared/concurrency/write-json.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { LogLevel } from '#shared/workflow/nodes/kinds/log.ts';
import type { Printed } from '#shared/workflow/run-log.ts';
import { Call } from './call.ts';
import { HostProcess } from './host-handle.ts';
import type { CallOutcome, HostReply, Job, PrintedText } from './protocol.ts';
import { readOutcome } from './read-outcome.ts';
import { chooseHost } from './tenant-hosts.ts';

export interface SandboxRequest {
  tenantID: string;
  /** The body of an async function over `args`: it returns, and may await. */
  code: string;
  args: Record<string, Json>;
  timeoutMs: number;
  /** Name of the setting with the time limit, for the error. */
  timeoutSetBy?: string;
  /** Default: 128. */
  memoryMB?: number;
  /** Default: the configured limit. */
  maxOutputBytes?: number;
  /** Receives what the code has printed, when it has ended and before the answer. Without this function, that is dropped. */
  onPrinted?: (printed: Printed) => void;
}

/** Runs user code in isolates of child processes. */
export interface Sandbox extends AsyncDisposable {
  run(request: SandboxRequest, signal: AbortSignal): Promise<Json>;
  /** Number of child processes, for health. */
  readonly processes: number;
  /** Calls that run, and calls that wait for a process. */
  readonly used: number;
  readonly waiting: number;
}

interface SandboxConfig {
  processes: number;
  maxOutputBytes: number;
  /** Whether no process serves two tenants. */
  isPerTenant?: boolean;
  /** How long a process of one tenant stays without a call; default: 10 s. */
  idleMs?: number;
}

export function createSandbox(config: SandboxConfig, logger: Logger): Sandbox {
  return new Pool(config, logger);
}

/**
 * Measured on two busy cores, `return 1`, warm: p50 0.4 ms (calls 3 ms apart) to 0.85 ms (back to back), p99 3.3 ms (a heap
 * is collected); a tenant's first call in a host 3 to 5 ms; 1,500 to 1,900 calls/s. A host starts in 0.2 s and rests at 80 MB.
 */
class Pool implements Sandbox {
  readonly #config: SandboxConfig;
  readonly #logger: Logger;
  readonly #hosts = new Set<HostProcess>();
  /** A further host, one call at a time: for calls whose host has died, and for tenants whose code has ended a host. */
  #quarantine: HostProcess | undefined;
  readonly #suspects = new LRUCache<string, true>({ max: maxQuarantined, ttl: suspicionMs });
  readonly #waiting = createFairQueue<Call>();
  /** Limit of the calls of one creator in all hosts except the quarantine. */
  readonly #byCreator = createDynamicLimit();
  #tenureEnd: NodeJS.Timeout | undefined;
  #lastID = 0;
  #failedStarts = 0;
  #isClosed = false;

  constructor(config: SandboxConfig, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
  }

  get processes(): number {
    return this.#hosts.size + (this.#quarantine ? 1 : 0);
  }

  get used(): number {
    return this.#everyHost().reduce((sum, { calls }) => sum + calls.size, 0);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  async run(request: SandboxRequest, signal: AbortSignal): Promise<Json> {
    signal.throwIfAborted();
    if (this.#isClosed) throw closing();
    const job = this.#jobOf(request);
    const reservation = currentReservation();
    // Memory is reserved only for large arguments: most calls have little data, and thousands of them are made in a second.
    const bytes = job.args.length > LARGE ? job.args.length : 0;
    await reservation?.reserve(bytes);
    try {
      const { tenantID, onPrinted } = request;
      return await this.#answer({ job, flow: flowOf(tenantID), onPrinted }, signal);
    } finally {
      reservation?.release(bytes);
    }
  }

  async #answer(asked: ConstructorParameters<typeof Call>[0], signal: AbortSignal): Promise<Json> {
    signal.throwIfAborted();
    const call = new Call(asked, signal, (aborted) => this.#abandon(aborted));
    this.#enqueue(call);
    this.#dispatch();
    // While the call waits for a host, it releases its permit of the engine or of the requests.
    if (call.isWaiting) await currentPermit()?.releaseWhile(call.begun, signal);
    const answer = await call.answer;
    if (call.resultLength > LARGE) await currentReservation()?.reserve(call.resultLength);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const hosts = this.#everyHost();
    for (const call of this.#waiting.drain()) call.reject(closing());
    for (const host of hosts) {
      for (const call of [...host.calls.values()]) {
        this.#release(host, call);
        call.reject(closing());
      }
      host.kill();
    }
    await Promise.all(hosts.map((host) => host.ended()));
  }

  #jobOf({ tenantID, code, args, timeoutMs, timeoutSetBy, memoryMB = 128, maxOutputBytes }: SandboxRequest): Job {
    this.#lastID += 1;
    return {
      id: this.#lastID,
      tenantID,
      code,
      names: Object.keys(args),
      args: `[${Object.values(args).map(jsonOf).join(',')}]`,
      timeoutMs: Math.max(1, Math.ceil(timeoutMs)),
      timeoutSetBy,
      memoryMB: Math.max(8, memoryMB),
      maxOutputBytes: maxOutputBytes ?? this.#config.maxOutputBytes,
    };
  }

  #enqueue(call: Call): void {
    this.#waiting.enqueue(call.flow, call, { isFirst: call.isAlone });
  }

  /** Starts the calls that can start, by round robin over the tenants. */
  #dispatch(): void {
    for (let next = this.#next(); next; next = this.#next()) this.#start(next.call, next.host);
  }

  #next(): { call: Call; host: HostProcess } | undefined {
    let host: HostProcess | undefined;
    const call = this.#waiting.dequeue((each) => {
      host = this.#hostFor(each);
      return host !== undefined;
    });
    return call && host && { call, host };
  }

  #hostFor(call: Call): HostProcess | undefined {
    if (call.isAlone || this.#suspects.has(call.tenantID)) {
      this.#quarantine ??= this.#spawn(1, call);
      const host = this.#quarantine;
      if (!host.isFree) return undefined;
      if (host.owner === undefined || host.owner === call.tenantID) return host;
      host.kill();
      return undefined;
    }
    if (this.#byCreator.isReached(call.flow, this.#freeCalls())) return undefined;
    return this.#config.isPerTenant ? this.#ownHostFor(call) : this.#sharedHostFor(call);
  }

  #ownHostFor(call: Call): HostProcess | undefined {
    const choice = chooseHost(this.#hosts, call.tenantID, this.#config.processes);
    if (choice.kind === 'run') return choice.host;
    if (choice.kind === 'start') this.#hosts.add(this.#spawn(callsPerHost, call));
    else if (choice.kind === 'replace') choice.host.kill();
    else if (choice.ms !== null) {
      clearTimeout(this.#tenureEnd);
      this.#tenureEnd = setTimeout(() => this.#dispatch(), choice.ms + 1).unref();
    }
    return undefined;
  }

  #sharedHostFor(call: Call): HostProcess | undefined {
    let best: HostProcess | undefined;
    let isAnyIdle = false;
    for (const host of this.#hosts) {
      if (host.calls.size === 0) isAnyIdle = true;
      if (!host.isFree || host.tenants.has(call.tenantID)) continue;
      if (!best || costOf(host, call) < costOf(best, call)) best = host;
    }
    if (!isAnyIdle && this.#hosts.size < this.#config.processes) this.#hosts.add(this.#spawn(callsPerHost, call));
    return best;
  }

  /** Further calls that all hosts could run, those included that are not started yet. */
  #freeCalls(): number {
    let taken = 0;
    for (const host of this.#hosts) taken += host.calls.size;
    return this.#config.processes * (this.#config.isPerTenant ? 1 : callsPerHost) - taken;
  }

  #start(call: Call, host: HostProcess): void {
    host.run(call);
    if (host.capacity > 1) this.#byCreator.count(call.flow, 1);
    call.begin();
    this.#watch(call, host, call.job.timeoutMs + graceMs);
  }

  /** Forgets a call that the host has finished. */
  #release(host: HostProcess, call: Call): void {
    if (host.release(call) && host.capacity > 1) this.#byCreator.count(call.flow, -1);
  }

  /** Kills the host if it has not answered in time; V8 may be unable to interrupt one of its threads. */
  #watch(call: Call, host: HostProcess, ms: number): void {
    clearTimeout(call.watchdog);
    // `setImmediate`, because timers run before input: if this process itself was blocked, the answer may have arrived.
    const check = () => host.calls.get(call.job.id) === call && this.#destroy(host, call, { kind: 'timeout' });
    call.watchdog = setTimeout(() => setImmediate(check), ms);
  }

  #spawn(capacity: number, { tenantID }: Call): HostProcess {
    const host = new HostProcess(
      { capacity, owner: this.#config.isPerTenant ? tenantID : undefined },
      { onReply: (from, reply) => this.#onReply(from, reply), onExit: (from) => this.#onExit(from) },
      this.#logger,
    );
    setTimeout(() => host.hasStarted || host.kill(), startMs).unref();
    return host;
  }

  #onReply(host: HostProcess, reply: HostReply): void {
    if (reply.kind === 'ready') {
      this.#failedStarts = 0;
      host.start();
      this.#dispatch();
      this.#retire(host);
      return;
    }
    const call = reply.id === null ? undefined : host.calls.get(reply.id);
    if (reply.kind === 'unsound') {
      this.#destroy(host, call, reply.outcome);
    } else if (call) {
      this.#release(host, call);
      deliverPrinted(call, reply.printed);
      settle(call, reply.outcome);
      this.#dispatch();
      this.#retire(host);
    }
  }

  /** Ends the quarantine process, or one of a single tenant, after some time without a call. */
  #retire(host: HostProcess): void {
    if (host.calls.size > 0 || (host !== this.#quarantine && host.owner === undefined)) return;
    clearTimeout(host.retirement);
    const end = () => host.calls.size === 0 && host.kill();
    host.retirement = setTimeout(end, this.#config.idleMs ?? retirementMs).unref();
  }

  #destroy(host: HostProcess, culprit: Call | undefined, outcome: CallOutcome): void {
    if (host.isKilled) return;
    if (culprit) this.#blame(host, culprit, outcome);
    else this.#logger.warn({ pid: host.pid, calls: host.calls.size }, 'sandbox host is replaced');
    host.kill();
  }

  #blame(host: HostProcess, culprit: Call, outcome: CallOutcome): void {
    this.#logger.warn(
      { pid: host.pid, tenantID: culprit.tenantID, outcome: outcome.kind },
      'user code ended its sandbox host',
    );
    this.#suspects.set(culprit.tenantID, true);
    this.#release(host, culprit);
    settle(culprit, outcome);
  }

  #onExit(host: HostProcess): void {
    this.#hosts.delete(host);
    if (this.#quarantine === host) this.#quarantine = undefined;
    if (this.#isClosed) return;
    if (!host.hasStarted) this.#countFailedStart();

    for (const call of [...host.calls.values()]) {
      // The call was alone in the host, and the pool did not kill it.
      if (call.isAlone && !host.isKilled) this.#blame(host, call, { kind: 'lost', message: 'exit' });
      this.#release(host, call);
      if (call.isSettled) continue;
      // User code has no effects outside its isolate, so running it again is harmless.
      call.isAlone = true;
      this.#enqueue(call);
    }
    this.#dispatch();
  }

  #countFailedStart(): void {
    this.#failedStarts += 1;
    this.#logger.error({ failedStarts: this.#failedStarts }, 'sandbox host did not start');
    if (this.#failedStarts < 3) return;
    this.#failedStarts = 0;
    const lost = new AppError('UNAVAILABLE', 'User code cannot be run at the moment', { retryAfter: 5 });
    for (const call of this.#waiting.drain()) call.reject(lost);
  }

  /** Stops the work of an aborted call; its caller has the reason already. */
  #abandon(call: Call): void {
    this.#waiting.remove(call.flow, call);
    const host = this.#everyHost().find((each) => each.calls.has(call.job.id));
    if (!host) return;
    host.cancel(call);
    this.#watch(call, host, graceMs);
  }

  #everyHost(): HostProcess[] {
    return this.#quarantine ? [...this.#hosts, this.#quarantine] : [...this.#hosts];
  }
}

/** Arguments and results of more characters are counted among the bytes that a worker holds. */
const LARGE = 50_000;
/** Calls of different tenants that run at once in one host, each on a thread: an endless loop takes one. */
const callsPerHost = 8;
/** Time that a host has to end a call, after the call's time limit or its cancellation, before it is killed. */
const graceMs = 1000;
/** Time that a host has to start. */
const startMs = 15_000;
/** How long a tenant stays suspect after its code has ended a host. */
const suspicionMs = 60_000;
const maxQuarantined = 10_000;
const retirementMs = 10_000;

/** Cost of a host for a call, by which the cheapest is chosen. A host that has an isolate of the tenant saves 3 ms. */
function costOf(host: HostProcess, { tenantID }: Call): number {
  return host.calls.size + (host.knows(tenantID) ? 0 : callsPerHost);
}

/** Passes on what the code has printed. The JSON can be parsed safely, because our own code in the host has written it. */
function deliverPrinted(call: Call, printed: PrintedText | undefined): void {
  if (!printed || call.isSettled || !call.onPrinted) return;
  const lines = JSON.parse(printed.lines) as { level: LogLevel; at: number; message: string }[];
  const dated = lines.map((line) => ({ ...line, at: new Date(line.at).toISOString() }));
  call.onPrinted({ lines: dated, cut: printed.cut });
}

function settle(call: Call, outcome: CallOutcome): void {
  if (call.isSettled) return;
  if (outcome.kind === 'value') call.resultLength = outcome.json.length;
  call.resolve(readOutcome(outcome, call.job));
}

function closing(): AppError {
  return new AppError('UNAVAILABLE', 'The sandbox is closing');
}
