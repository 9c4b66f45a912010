import { useContext, useEffect, useEffectEvent, useRef } from 'react';
import { whenServed } from '../client/when-served.ts';
import { ValuesInField } from '../values/context.ts';
import { createEditor, type Editor } from './editor.ts';
import type { CodeLanguage } from './language.ts';
import { languageOf } from './languages.ts';
import { OfferedInCode } from './offered.ts';

interface Props {
  value: string;
  onChange: (value: string) => void;
  language: CodeLanguage;
  /** Attributes that describe the field to assistive technology. */
  attributes: Readonly<Record<string, string>>;
  placeholder: string;
  isFocused: boolean;
}

/** The editor of a code field. */
export function CodeView({ value, onChange, language, attributes, placeholder, isFocused }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(null);
  const offered = useContext(OfferedInCode);
  const values = useContext(ValuesInField);
  const change = useEffectEvent((text: string) => onChange(text));
  const begin = useEffectEvent((parent: HTMLElement) => {
    const made = createEditor({
      ...{ parent, text: value, placeholder, hasLineNumbers: language === 'sql' || language === 'javascript' },
      onChange: (text) => change(text),
    });
    if (isFocused) made.view.focus();
    return made;
  });
  useEffect(() => {
    if (!container.current) return;
    const made = begin(container.current);
    editor.current = made;
    return () => made.view.destroy();
  }, []);
  useEffect(() => editor.current?.show(value), [value]);
  useEffect(() => editor.current?.describe(attributes), [attributes]);
  useEffect(() => {
    if (!values) return editor.current?.extend([]);
    let isWanted = true;
    void whenServed(() => import('../values/in-code.ts')).then(
      ({ valuesSupport }) => isWanted && editor.current?.extend(valuesSupport(values)),
    );
    return () => {
      isWanted = false;
    };
  }, [values]);
  useEffect(() => {
    let isWanted = true;
    void languageOf(language, offered).then((support) => isWanted && editor.current?.speak(support));
    return () => {
      isWanted = false;
    };
  }, [language, offered]);
  return <div ref={container} />;
}
