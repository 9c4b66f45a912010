/** Widgets into which a person enters something, or with which they do something: one file of the build. */
export { ButtonWidget } from './button.tsx';
export { MultiSelectWidget, RadioGroupWidget, SelectWidget } from './choices.tsx';
export { DatePickerWidget, DateRangeWidget } from './dates.tsx';
export { FileUploadWidget } from './file-upload.tsx';
export { FormWidget } from './form.tsx';
export { SliderWidget } from './slider.tsx';
export { TabsWidget } from './tabs.tsx';
export { SearchInputWidget, TextInputWidget } from './text-input.tsx';
export { CheckboxWidget, SwitchWidget } from './toggles.tsx';
