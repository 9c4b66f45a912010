interface Same {
  what: string;
  note?: string;
}

/** The words that deliveries with one id have in common, by the setting of the listener. An unsigned header of signed deliveries is no id. */
export function sameWords(
  { dedupBy, dedupField }: Readonly<Record<string, unknown>>,
  headers: readonly (readonly string[])[],
): Same {
  const names = new Set(headers.map(([name = '']) => name.toLowerCase()));
  if (dedupBy === 'header') return { what: `the same header “${dedupField}”` };
  if (dedupBy === 'query') return { what: `the same parameter “${dedupField}”` };
  if (dedupBy === 'body') return { what: 'the same body' };
  const own = ['webhook-id', 'svix-id'].find((name) => names.has(name));
  if (own) return { what: `the same header “${own}”` };
  if (names.has('stripe-signature') || names.has('x-slack-signature')) return { what: 'the same id in its body' };
  const isSigned = [...names].some((name) => name.includes('signature'));
  if (!isSigned && names.has('idempotency-key')) return { what: 'the same header “idempotency-key”' };
  return {
    what: 'the same body',
    note: 'Its signature covers the body alone. Other headers, such as an id of the delivery, are not signed, and do not tell two of them apart.',
  };
}
