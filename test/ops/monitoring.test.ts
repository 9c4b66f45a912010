/** The dashboard and the alert rules against the page of the metrics, which is checked against the processes. */
import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { WireError } from '#shared/core/errors.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { documentedMetrics } from '../support/metrics.ts';

const Dashboard = z.object({
  panels: z.array(
    z.object({ id: z.int(), title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) }),
  ),
});
const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});

const dashboard = Dashboard.parse(JSON.parse(readFileSync('ops/deploy/monitoring/dashboard.json', 'utf8')));
const rules = Rules.parse(parse(readFileSync('ops/deploy/monitoring/alerts.yaml', 'utf8')));
const expressions = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: title, expr }))),
  ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => ({ where: alert, expr }))),
];

/** Values that the page of the metrics does not list. */
const known = new Set<string>([...queues.map(({ name }) => name), ...WireError.shape.code.options]);

describe.each(expressions)('$where: $expr', ({ expr }) => {
  const metrics = documentedMetrics();
  const used = [...expr.matchAll(/(gantry_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    metric: metrics.find((each) => each.name === name),
    matchers: [...matchers.matchAll(/(\w+)(?:=~|!=|=)"([^"]*)"/g)].map(([, label = '', values = '']) => ({
      label,
      values: values.split('|'),
    })),
  }));

  test('names metrics, labels and values that exist', () => {
    expect(used.length).toBeGreaterThan(0);
    for (const { metric, matchers } of used) {
      expect(metric).toBeDefined();
      for (const { label, values } of matchers) {
        expect(metric?.labels).toContain(label);
        for (const value of values.filter((each) => !known.has(each))) expect(metric?.row).toContain(value);
      }
    }
  });

  test('groups by labels that exist', () => {
    const labels = new Set(['instance', ...used.flatMap(({ metric }) => metric?.labels ?? [])]);
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
    expect(grouped.filter((label) => !labels.has(label))).toEqual([]);
  });

  test('takes rates of counters only, and no values of counters', () => {
    for (const [, rate, name] of expr.matchAll(/(?:(rate|increase)\()?(gantry_\w+)/g)) {
      const isCounter = metrics.find((each) => each.name === name)?.kind === 'counter';
      expect({ name, isRate: rate !== undefined }).toEqual({ name, isRate: isCounter });
    }
  });

  test('is PromQL', () => {
    // Grafana puts a time in place of its variable.
    const text = expr.replaceAll('$__rate_interval', '5m');
    const wrong: string[] = [];
    parser.parse(text).iterate({
      enter({ type, from }) {
        if (type.isError) wrong.push(text.slice(from, from + 20) || 'its end');
      },
    });

    expect(wrong).toEqual([]);
  });
});

test('every metric is on the dashboard', () => {
  const shown = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');

  expect(documentedMetrics().filter(({ name }) => !new RegExp(`${name}\\b`).test(shown))).toEqual([]);
});

test('panels have ids of their own', () => {
  const ids = dashboard.panels.map(({ id }) => id);

  expect(new Set(ids).size).toBe(ids.length);
});
