import { describe, expect, test } from 'vitest';
import { sameWords } from '#ops/console/listener/same-words.ts';
import { unfilledText } from '#ops/console/listener/unfilled-text.ts';

describe('what two deliveries have in common', () => {
  test.each([
    [{ dedupBy: 'header', dedupField: 'x-id' }, [], 'the same header “x-id”'],
    [{ dedupBy: 'body' }, [['webhook-id', '1']], 'the same body'],
    [{ dedupBy: 'auto' }, [['Webhook-Id', '1']], 'the same header “webhook-id”'],
    [{ dedupBy: 'auto' }, [['stripe-signature', 't=1']], 'the same id in its body'],
    [{ dedupBy: 'auto' }, [['Idempotency-Key', '1']], 'the same header “idempotency-key”'],
    [
      { dedupBy: 'auto' },
      [
        ['x-github-delivery', '1'],
        ['x-hub-signature-256', 'sha256=0'],
      ],
      'the same body',
    ],
  ])('%j with the headers %j: %s', (config, headers, what) => {
    expect(sameWords(config, headers).what).toBe(what);
  });
});

describe('inputs that an action leaves empty', () => {
  const definitions = [
    { key: 'amount', type: 'number', required: true, title: 'Amount' },
    { key: 'note', type: 'string' },
    { key: 'day', type: 'date', required: true, default: '2026-01-01' },
  ];

  test.each([
    [definitions, undefined, /requires it: “Amount”/],
    [definitions, { note: '{{event.body.note}}' }, /requires it: “Amount”/],
    [definitions, { amount: '{{event.body.amount}}' }, undefined],
    [definitions.slice(1), undefined, /None of its inputs is filled \(note, day\)/],
    [[{ key: 'event', type: 'object', required: true }], undefined, undefined],
    [[], undefined, undefined],
  ])('%j with %j', (inputs, given, text) => {
    const said = unfilledText(inputs, given, 'workflow');
    if (text) expect(said).toMatch(text);
    else expect(said).toBeUndefined();
  });
});
