/** The tool calls that the inbox shows, as it stands in the address. */
export interface InboxView {
  /** Without it, those that wait. */
  calls?: 'all';
  cursor?: string;
}

export function parseInboxView({ calls, cursor }: Record<string, unknown>): InboxView {
  if (calls !== 'all') return {};
  return { calls, ...(typeof cursor === 'string' && cursor !== '' && { cursor }) };
}
