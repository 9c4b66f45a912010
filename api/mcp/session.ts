import type { Identified } from '../auth/identify.ts';
import type { ToolCaller } from '../tools/tool.ts';
import type { ToolChoice } from './tool-choice.ts';

/** The caller of one HTTP request. */
export interface Session {
  caller: ToolCaller;
  identity: Identified;
  /** The tools that the client wants listed. */
  choice: ToolChoice;
  /** Whether the message asks who the service is, which the instructions are part of. */
  isBeginning?: boolean;
  /** Aborted when the client cancels the call with another message. */
  cancelled?: AbortSignal | undefined;
}
