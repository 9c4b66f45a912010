/** Whether a query changes nothing, as far as its text tells; what is not known may change something. */
export function isReadOnly({ query, method }: Readonly<Record<string, unknown>>): boolean {
  if (method === 'GET') return true;
  return (
    typeof query === 'string' &&
    /^\s*(?:--[^\n]*\n\s*)*(?:select|with|show|values|table)\b/i.test(query) &&
    !/\b(?:insert|update|delete|merge|truncate|drop|alter|create|call|into)\b/i.test(query)
  );
}
