import { Cell } from '../../../ui/cell.tsx';
import { safeAddress } from '../../state/safe-address.ts';
import { number, text } from '../page-context.ts';

/** A value as the type of its column shows it. */
export function TypedCell({ name, type, value }: { name: string; type: string; value: unknown }) {
  if (value === null || value === undefined) return <Cell name={name} value={null} />;
  switch (type) {
    case 'number': {
      const one = number(value);
      return one === undefined ? (
        <Cell name={name} value={value} />
      ) : (
        <span className="nowrap">{new Intl.NumberFormat(undefined, { maximumFractionDigits: 10 }).format(one)}</span>
      );
    }
    case 'date': {
      const at = new Date(text(value));
      if (Number.isNaN(at.getTime())) return <Cell name={name} value={value} />;
      const isDay = /^\d{4}-\d\d-\d\d$/.test(text(value));
      const style = isDay
        ? ({ dateStyle: 'medium', timeZone: 'UTC' } as const)
        : ({ dateStyle: 'medium', timeStyle: 'short' } as const);
      return (
        <time className="nowrap" dateTime={text(value)}>
          {new Intl.DateTimeFormat(undefined, style).format(at)}
        </time>
      );
    }
    case 'boolean':
      return value === true || value === 'true' ? 'Yes' : 'No';
    case 'badge':
      return (
        <span className="page-badge" data-tone="idle">
          <bdi>{text(value)}</bdi>
        </span>
      );
    case 'link': {
      const address = safeAddress(text(value), location.origin);
      if (address === null) return <Cell name={name} value={value} />;
      return (
        <a className="link" href={address} target="_blank" rel="noopener noreferrer">
          <bdi>{text(value)}</bdi>
        </a>
      );
    }
    default:
      return <Cell name={name} value={value} />;
  }
}
