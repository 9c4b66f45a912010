/** Widgets into which a person enters something, or with which they do something: one file of the build. */
export { ButtonWidget } from './button.tsx';
