import type { Identified } from '../auth/identify.ts';
import type { ToolCaller } from '../tools/tool.ts';

/** The caller of one HTTP request. */
export interface Session {
  caller: ToolCaller;
  identity: Identified;
  /** Lists groups and a search in place of every tool. */
  isGrouped: boolean;
  /** Of a call that its client may cancel with another message. */
  cancelled?: AbortSignal | undefined;
}
