/** The console: the lake looked at, asked and changed from a browser. */
import './console.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { startSession } from './session.ts';

render(<App />, document.getElementById('page')!);
void startSession();
