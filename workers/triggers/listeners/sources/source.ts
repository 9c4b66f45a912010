import type { z } from 'zod';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { AnyDatasource } from '#shared/datasources/types/index.ts';
import type { AnyLiveListener } from '#shared/triggers/listeners/types/index.ts';
import type { OutboundServices } from '../../../datasources/connectors/outbound-services.ts';

/** An event as a server has sent it. */
export interface Arrival {
  body: Buffer;
  /** Default: JSON if the body is JSON, otherwise text. */
  contentType?: string;
  /** Origin of the event at the server: a channel, a topic, a sequence. Templates refer to the fields as `{{event.…}}`. */
  meta: JsonObject;
  /** Identifies the event when the server sends it again, because the acknowledgement was lost: it is then recorded only once. */
  key?: string;
}

/** A stream whose reading can be paused, such as a socket. */
export interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

/** Context of one connection of a listener. */
export interface SourceContext<Options = unknown, Config = unknown> {
  readonly listenerID: string;
  readonly tenantID: string;
  readonly options: Options;
  readonly config: Config;
  readonly services: OutboundServices;
  readonly logger: Logger;
  /** Aborted when the owner gives up the listener. */
  readonly signal: AbortSignal;
  /** The last cursor that was passed to `keepCursor`. */
  readonly cursor: JsonObject | undefined;
  /** Is called when the connection is made, and events arrive from now on. */
  ready(): void;
  /** Resolves when the event is durable: only then may it be acknowledged. Waits while the database is away. */
  record(arrival: Arrival): Promise<void>;
  /** Resolves when there is capacity for more events of the tenant. For types that ask for events. */
  untilCapacity(): Promise<void>;
  /**
   * Back-pressure for types whose server sends without being asked: answers with a function that records, then calls `acknowledge`, and pauses the
   * stream while too many events are not recorded yet.
   */
  recordFrom(stream: Pausable): (arrival: Arrival, acknowledge?: () => unknown) => void;
  /** Whether `recordFrom` has paused a stream at that time (`performance.now()`) or later. */
  wasPausedSince(at: number): boolean;
  /** Stores the position from which the next connection continues. Call it only when the events before it are recorded. */
  keepCursor(cursor: JsonObject): void;
}

/** Receives events of one type until the signal is aborted. Rejects when the connection is lost, or cannot be made. */
export interface Source<Options = unknown, Config = unknown> {
  receive(context: SourceContext<Options, Config>): Promise<void>;
  /** Names what stays at the server of a listener, such as a queue or a slot. Undefined: nothing. */
  remoteResourceOf?(context: CleanupContext<Options, Config>): string | undefined;
  /** Removes that resource when the listener is deleted, made inactive, or changed. */
  removeRemoteResource?(context: CleanupContext<Options, Config>): Promise<void>;
}

/** A listener that may have a remote resource, such as a queue or a slot. */
export type CleanupContext<Options = unknown, Config = unknown> = Pick<
  SourceContext<Options, Config>,
  'listenerID' | 'tenantID' | 'options' | 'config' | 'services' | 'signal'
>;

/** The source of a listener type, which has the name of its datasource type. */
export type SourceOf<D extends AnyDatasource, L extends AnyLiveListener> = Source<
  z.output<D['options']>,
  z.output<L['config']>
>;
