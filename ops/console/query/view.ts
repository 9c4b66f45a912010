/** The part of a query that is shown, as it stands in the address. */
export interface QueryView {
  tab?: 'history';
  cursor?: string;
}

export function parseQueryView({ tab, cursor }: Record<string, unknown>): QueryView {
  if (tab !== 'history') return {};
  return { tab, ...(typeof cursor === 'string' && cursor !== '' && { cursor }) };
}
