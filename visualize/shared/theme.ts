/** Light, dark, or as the reader's system has it; remembered for all pages. */
import { effect, signal } from '@preact/signals';

/** What the reader has chosen. */
type Theme = 'system' | 'light' | 'dark';
const key = 'lake-theme';
const read = (): Theme => {
  try {
    const kept = localStorage.getItem(key);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
};

/** Remembered when it changes. */
export const theme = signal<Theme>(read());
/** From the system's to dark, to light, and back. */
export const nextTheme = (): void => {
  theme.value = theme.value === 'system' ? 'dark' : theme.value === 'dark' ? 'light' : 'system';
};

effect(() => {
  const { value } = theme;
  if (value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = value;
  try {
    if (value === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Without storage it lasts as long as the page.
  }
});
