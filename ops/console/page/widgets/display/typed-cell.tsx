import { Cell } from '../../../ui/cell.tsx';
import { safeAddress } from '../../state/safe-address.ts';
import { number, text } from '../page-context.ts';

/** A value as the type of its column shows it. */
export function TypedCell({ name, type, value }: { name: string; type: string; value: unknown }) {
  if (value === null || value === undefined) return <NoValue />;
  switch (type) {
    case 'number': {
      const one = number(value);
      return one === undefined ? (
        <Cell name={name} value={value} />
      ) : (
        <span className="nowrap">{decimal(one, value)}</span>
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

/** People read pages: NULL is a word of databases. */
function NoValue() {
  return (
    <span className="null" title="No value">
      –
    </span>
  );
}

/** An amount that comes as a text, such as 890.50, has as many digits as the database keeps. */
function decimal(one: number, given: unknown): string {
  const [, digits = ''] = (typeof given === 'string' && /^-?\d+\.(\d{1,10})$/.exec(given.trim())) || [];
  const least = { minimumFractionDigits: digits.length, maximumFractionDigits: 10 };
  return new Intl.NumberFormat(undefined, least).format(one);
}
