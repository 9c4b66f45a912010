import './values.css';
import { lazy, type RefObject, Suspense, useEffect, useId, useMemo, useRef, useState } from 'react';
import { whenServed } from '../client/when-served.ts';
import { faultsIn } from './check.ts';
import { type FieldProps, type ValuesHere, ValuesInField } from './context.ts';
import { Marks } from './marks.tsx';
import { nativeFieldIn, putInto } from './native.ts';
import { FaultLine, NowLine } from './now-line.tsx';
import { expressionText, isCode } from './path.ts';
import { Popup } from './popup.tsx';
import { Suggestions } from './suggestions.tsx';
import { type Key, withoutSecrets } from './value.ts';

const CodeLine = lazy(() =>
  whenServed(() => import('./code-line.tsx')).then(({ CodeLine: one }) => ({ default: one })),
);
const ValuePicker = lazy(() => import('./picker.tsx').then(({ ValuePicker: one }) => ({ default: one })));

/** A field whose text can name values of the run: they are chosen by a click or completed, and its value is shown. */
export function ValueField({
  label,
  value,
  syntax = 'template',
  takesSecrets = false,
  onPick,
  here: given,
  children,
}: FieldProps & { here: ValuesHere }) {
  const here = useMemo(
    () => (takesSecrets ? given : { ...given, values: withoutSecrets(given.values) }),
    [given, takesSecrets],
  );
  const { values, Now = NowLine, isSample = () => false } = here;
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const wasEntered = useRef(false);
  const [isPicking, setPicking] = useState(false);
  const [text, setText] = useState('');
  const [isTyping, setTyping] = useState(false);
  const nowID = useId();
  const inField = useMemo(() => ({ values, syntax }), [values, syntax]);
  // The field has its text a moment after its value, and some keep one of their own.
  useEffect(() => setText(nativeFieldIn(box.current)?.value ?? ''));
  useDescription(box, nowID);
  const pick = (path: readonly Key[]) => {
    setPicking(false);
    const expression = expressionText(path, syntax);
    if (!onPick)
      requestAnimationFrame(() => putInto(box.current, path, { syntax, wasEntered: wasEntered.current, isSample }));
    else if (expression !== undefined) {
      onPick(expression);
      requestAnimationFrame(() => nativeFieldIn(box.current)?.focus());
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field within is what is entered and typed into
    <div
      ref={box}
      className="takes-values"
      onFocus={({ target }) => {
        if (target.closest('.value-button, .value-popup') === null) wasEntered.current = true;
      }}
      onInput={() => setText(nativeFieldIn(box.current)?.value ?? '')}
    >
      <ValuesInField value={inField}>{children}</ValuesInField>
      {!isCode(syntax) && !onPick && !isTyping && <Marks {...{ box, text, values, syntax }} />}
      {syntax === 'template' && !onPick && <Suggestions box={box} label={label} values={values} onShown={setTyping} />}
      <button
        ref={button}
        type="button"
        className="value-button"
        aria-label={`Insert a value into ${label}`}
        aria-haspopup="dialog"
        aria-expanded={isPicking}
        title="Insert a value"
        onClick={() => setPicking(!isPicking)}
      >
        {'{ }'}
      </button>
      {isPicking && (
        <Popup
          anchor={button}
          side="end"
          className="value-dropdown"
          dialogLabel={`Values for ${label}`}
          onClose={() => {
            const wasWithin = box.current?.querySelector('.value-dropdown')?.contains(document.activeElement);
            setPicking(false);
            if (wasWithin) button.current?.focus();
          }}
        >
          <Suspense fallback={<p className="value-note">Reading …</p>}>
            <ValuePicker here={here} syntax={syntax} onPick={pick} />
          </Suspense>
        </Popup>
      )}
      {syntax === 'template' && <Now id={nowID} value={value} here={here} isTyping={isTyping} />}
      {isCode(syntax) && here.Now === undefined && (
        <div id={nowID}>
          <Suspense>
            <CodeLine value={value} syntax={syntax} here={here} />
          </Suspense>
        </div>
      )}
      {syntax === 'key' && <FaultLine id={nowID} faults={faultsIn(text, values, syntax)} />}
    </div>
  );
}

/** Has the field described by what it has now, beside what describes it already. */
function useDescription(box: RefObject<Element | null>, id: string): void {
  useEffect(() => {
    const field = nativeFieldIn(box.current) ?? box.current?.querySelector('.cm-content');
    if (!field) return;
    const others = (field.getAttribute('aria-describedby') ?? '').split(' ').filter((one) => one !== '' && one !== id);
    const all = document.getElementById(id) ? [...others, id] : others;
    const text = all.join(' ');
    if ((field.getAttribute('aria-describedby') ?? '') === text) return;
    if (text === '') field.removeAttribute('aria-describedby');
    else field.setAttribute('aria-describedby', text);
  });
}
