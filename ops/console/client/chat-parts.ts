/** A part of a message, in the protocol of the AI SDK. */
export interface ChatPart {
  type: string;
  text?: string;
  state?: string;
  toolName?: string;
  toolCallId?: string;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string };
}

export interface ChatMessage {
  id: string;
  role: string;
  parts: readonly ChatPart[];
}

/** A piece of an answer, in the same protocol. */
export interface Chunk extends ChatPart {
  id?: string;
  delta?: string;
  messageId?: string;
}
