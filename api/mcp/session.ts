import type { Identified } from '../auth/identify.ts';
import type { ToolCaller } from '../tools/tool.ts';

/** The caller of one HTTP request. */
export interface Session {
  caller: ToolCaller;
  identity: Identified;
  /** Lists groups and a search in place of every tool. */
  isGrouped: boolean;
  /** Aborted when the client cancels the call with another message. */
  cancelled?: AbortSignal | undefined;
}
