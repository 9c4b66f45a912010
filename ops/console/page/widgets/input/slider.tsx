import '@mantine/core/styles/Slider.css';
import { Input, Slider } from '@mantine/core';
import { useId } from '@mantine/hooks';
import { useState } from 'react';
import { number, type WidgetProps } from '../page-context.ts';
import { fieldProps, useInput } from './use-input.ts';

export function SliderWidget({ widgetKey, title, properties }: WidgetProps) {
  const input = useInput(widgetKey);
  const id = useId();
  const { label, disabled } = fieldProps(title, properties);
  const min = number(properties.min) ?? 0;
  const max = Math.max(number(properties.max) ?? 100, min);
  const value = Math.min(Math.max(number(input.value) ?? min, min), max);
  // While it is dragged, only itself follows.
  const [dragged, setDragged] = useState<number>();
  return (
    <Input.Wrapper label={`${label}: ${dragged ?? value}`} id={id}>
      <Slider
        {...{ min, max, disabled }}
        step={Math.max(number(properties.step) ?? 1, Number.MIN_VALUE)}
        value={dragged ?? value}
        thumbLabel={label}
        onChange={setDragged}
        onChangeEnd={(end) => {
          setDragged(undefined);
          input.set(end);
        }}
      />
    </Input.Wrapper>
  );
}
