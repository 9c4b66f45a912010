import type { MikroORM } from '@mikro-orm/postgresql';
import type { Policy } from '#shared/access/policy/policy.ts';
import type { MemoryBudget } from '#shared/concurrency/memory-budget.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { StoredFiles } from '#shared/datasources/files/files.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Backplane } from '#shared/messaging/backplane/index.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import type { RPC } from '#shared/messaging/rpc.ts';
import type { Config } from '#shared/process/config.ts';
import type { SecretsCheck } from '#shared/process/open-key-ring.ts';
import type { FormLinks } from '#shared/runs/form-links.ts';
import type { Runs } from '#shared/runs/runs.ts';
import type { Events } from '#shared/runs/send-event.ts';
import type { EventIngestion } from '#shared/triggers/listeners/event-ingestion.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { DevIssuer } from '../auth/dev-issuer.ts';
import type { Authenticator } from '../auth/identify.ts';
import type { Operators } from '../auth/operator-session.ts';
import type { createToolRights } from '../auth/tool-rights.ts';
import type { FleetView } from '../fleet/fleet.ts';
import type { FormLimits } from '../http/limits/form-limits.ts';
import type { RequestCount } from '../http/limits/rate-limit.ts';
import type { Refusals } from '../http/limits/refusals.ts';
import type { ReadExecutableVersion } from '../runs/executable-versions.ts';
import type { PausedQueues } from '../runs/paused-queues.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { AwaitedRuns } from '../streams/awaited-runs.ts';
import type { ChatStreams } from '../streams/chat-streams.ts';
import type { EventStreams } from '../streams/event-streams.ts';

/** Everything a handler may use. */
export interface ApiContext {
  config: Config;
  logger: Logger;
  pool: Pool;
  orm: MikroORM;
  messaging: MessagingServices;
  secrets: KeyRing & SecretsCheck;
  /** Bytes of tenants' files. */
  files: StoredFiles;
  access: AccessServices;
  runs: RunServices;
  requests: RequestServices;
}

export interface MessagingServices {
  backplane: Backplane;
  producer: Producer & Pick<RPC, 'request'>;
}

/** Authentication and permissions. */
export interface AccessServices {
  authenticator: Authenticator;
  operators: Operators;
  policy: Policy;
  toolRights: ReturnType<typeof createToolRights>;
  /** On a developer's machine only. */
  devIssuer?: DevIssuer | undefined;
  /** With AUTH=builtin only. */
  signIn?: SignIn | undefined;
}

/** Starting runs, sending them events and answers, and waiting for their ends. */
export interface RunServices extends Runs {
  executableVersion: ReadExecutableVersion;
  awaited: Omit<AwaitedRuns, 'drain'>;
  events: Events;
  ingestion: EventIngestion;
  formLinks: FormLinks;
  formLimits: FormLimits;
  fleet: FleetView;
  pausedQueues: PausedQueues;
}

/** Limits, records and streams that the requests of a process share. */
export interface RequestServices {
  count: RequestCount;
  refusals: Refusals;
  /** Bytes of bodies and responses that the process holds at once. */
  bytes: MemoryBudget;
  audit: AuditTrail;
  streams: EventStreams;
  chatStreams: ChatStreams;
  /** Set once the process has begun to stop. */
  readonly draining: AbortSignal;
}
