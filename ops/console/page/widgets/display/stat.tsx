import { number, text, type WidgetProps } from '../page-context.ts';

export function StatWidget({ title, properties: { label, value, unit, previousValue, precision } }: WidgetProps) {
  const [now, before] = [number(value), number(previousValue)];
  const digits = number(precision);
  const shown =
    now === undefined || (digits === undefined && typeof value === 'string') ? text(value, '–') : decimal(now, digits);
  return (
    <dl className="page-stat">
      <dt>{text(label, title)}</dt>
      <dd>
        <bdi>{shown === '' ? '–' : shown}</bdi>
        {unit !== undefined && unit !== '' && <span className="unit"> {text(unit)}</span>}
        {now !== undefined && before !== undefined && <Change from={before} to={now} />}
      </dd>
    </dl>
  );
}

function decimal(value: number, digits: number | undefined): string {
  const bounded =
    digits === undefined ? {} : { minimumFractionDigits: clamp(digits), maximumFractionDigits: clamp(digits) };
  return new Intl.NumberFormat(undefined, bounded).format(value);
}

const clamp = (digits: number) => Math.min(Math.max(Math.trunc(digits), 0), 20);

function Change({ from, to }: { from: number; to: number }) {
  const share = from === 0 ? null : (to - from) / Math.abs(from);
  const words =
    share === null
      ? new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' }).format(to - from)
      : new Intl.NumberFormat(undefined, {
          style: 'percent',
          signDisplay: 'exceptZero',
          maximumFractionDigits: 1,
        }).format(share);
  return <span className="change"> {words} since before</span>;
}
