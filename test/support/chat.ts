import type { Cluster } from './cluster.ts';
import type { TestTenant, TestUser } from './factories.ts';

export interface ChatChunk {
  type: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: Record<string, unknown>;
  errorText?: string;
  delta?: string;
  messageId?: string;
}

/** A part of a message as `useChat` keeps it. */
export interface ChatPart {
  type: string;
  state?: string;
  text?: string;
  toolName?: string;
  toolCallId?: string;
  input?: unknown;
  output?: Record<string, unknown>;
  errorText?: string;
  approval?: { id: string; approved?: boolean; reason?: string };
}

export interface ChatMessage {
  id: string;
  role: string;
  parts: ChatPart[];
}

/** A chat of a user, which keeps what a client would keep. */
export interface TestChat {
  say(text: string): Promise<ChatChunk[]>;
  /** Answers the calls that wait for a confirmation. */
  decide(approved: boolean, change?: (part: ChatPart) => ChatPart): Promise<Response>;
  send(messages: readonly object[]): Promise<Response>;
  stored(): Promise<ChatMessage[]>;
}

let count = 0;

export function aChat(
  cluster: Cluster,
  tenant: TestTenant,
  { as = tenant.creator, at = cluster.baseURL }: { as?: TestUser; at?: string } = {},
): TestChat {
  count += 1;
  const chatID = `chat-${count}`;
  const api = cluster.as(as, { baseURL: at }).in(tenant);
  let said = 0;

  async function send(messages: readonly object[]): Promise<Response> {
    const authorization = `Bearer ${await cluster.tokenFor(as)}`;
    return fetch(`${at}/api/v1/tenants/${tenant.id}/ai/chat/stream`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ id: chatID, messages }),
    });
  }
  async function stored(): Promise<ChatMessage[]> {
    const { body } = await api.get(`T/ai/chat/session?id=${chatID}`);
    return body.messages;
  }
  return {
    send,
    stored,
    async say(text) {
      said += 1;
      return readChunks(await send([{ id: `m${said}`, role: 'user', parts: [{ type: 'text', text }] }]));
    },
    async decide(approved, change = (part) => part) {
      const messages = await stored();
      const last = messages.at(-1);
      const parts = last?.parts.map((part) =>
        part.state === 'approval-requested' && part.approval
          ? change({ ...part, state: 'approval-responded', approval: { ...part.approval, approved } })
          : part,
      );
      return send([{ ...last, parts }]);
    },
  };
}

export async function readChunks(response: Response): Promise<ChatChunk[]> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)));
}
