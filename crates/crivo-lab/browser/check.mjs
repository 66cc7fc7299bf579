// Opens a report in headless Chromium and checks it.
//
//   node crates/crivo-lab/browser/check.mjs STUDY_DIRECTORY [SCREENSHOT_DIRECTORY]
//
// It fails (exit code 1) on an error in the console, a network request, a figure that is missing,
// empty or not drawn, or a page that is wider than its window; and takes screenshots of the whole
// page in desktop width, dark mode and phone width, and a PDF for print. It needs Node.js 18 or later and Chromium (Debian: apt-get install
// chromium; elsewhere set CHROMIUM to its path). Without Chromium it says so and exits with 2.
//
// It speaks to Chromium over the DevTools protocol through a pipe: nothing is installed from npm.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [study, shots = 'screenshots'] = process.argv.slice(2);
if (!study || !existsSync(join(study, 'index.html'))) {
  console.error('usage: node check.mjs STUDY_DIRECTORY [SCREENSHOT_DIRECTORY]; STUDY_DIRECTORY contains index.html');
  process.exit(2);
}
const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const chromium = candidates.find((path) => path && existsSync(path));
if (!chromium) {
  console.error('Chromium is not installed; set CHROMIUM to its path');
  process.exit(2);
}

const profile = mkdtempSync(join(tmpdir(), 'crivo-browser-'));
const browser = spawn(chromium, [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--hide-scrollbars', `--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank',
], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });

// The protocol: JSON messages that end in a zero byte, on file descriptors 3 and 4.
const waiting = new Map();
const listeners = [];
let rest = '';
let last = 0;
browser.stdio[4].setEncoding('utf8');
browser.stdio[4].on('data', (chunk) => {
  const messages = (rest + chunk).split('\0');
  rest = messages.pop();
  for (const text of messages) {
    const message = JSON.parse(text);
    if (message.id) {
      const { done, failed } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) failed(new Error(message.error.message));
      else done(message.result);
    } else {
      listeners.forEach((listener) => listener(message));
    }
  }
});
const send = (method, params = {}, sessionId) => new Promise((done, failed) => {
  last += 1;
  waiting.set(last, { done, failed });
  browser.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
});

const faults = [];
const views = [
  { name: 'desk', width: 1280, height: 900, scheme: 'light', mobile: false },
  { name: 'dark', width: 1280, height: 900, scheme: 'dark', mobile: false },
  { name: 'telephone', width: 390, height: 844, scheme: 'light', mobile: true },
];

// Runs in the page: what a reader would miss.
const inspect = () => {
  const faults = [];
  const figures = [...document.querySelectorAll('figure')];
  if (figures.length === 0) faults.push('there is no figure');
  for (const figure of figures) {
    const drawings = [...figure.querySelectorAll('.panel svg')];
    if (drawings.length === 0) faults.push(`${figure.id} has no drawing`);
    for (const drawing of drawings) {
      const box = drawing.getBoundingClientRect();
      const marks = drawing.querySelectorAll('path, circle, rect, line').length;
      if (box.width < 100 || box.height < 60) faults.push(`${figure.id} is drawn too small: ${box.width} × ${box.height}`);
      if (marks < 5) faults.push(`${figure.id} is nearly empty: ${marks} marks`);
    }
    if (!figure.querySelector('.verdict p')?.textContent.trim()) faults.push(`${figure.id} has no verdict`);
  }
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 1) faults.push(`the page is ${wide} pixels wider than its window`);
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    if (!document.getElementById(link.getAttribute('href').slice(1))) faults.push(`${link.getAttribute('href')} leads nowhere`);
  }
  return { faults, figures: figures.map((figure) => figure.id) };
};

try {
  mkdirSync(shots, { recursive: true });
  for (const view of views) {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const page = (method, params) => send(method, params, sessionId);
    const loaded = new Promise((done) => {
      listeners.push(({ method, params, sessionId: from }) => {
        if (from !== sessionId) return;
        if (method === 'Page.loadEventFired') done();
        if (method === 'Runtime.exceptionThrown') faults.push(`${view.name}: ${params.exceptionDetails.text}`);
        if (method === 'Runtime.consoleAPICalled' && params.type === 'error') faults.push(`${view.name}: console error`);
        if (method === 'Log.entryAdded' && params.entry.level === 'error') faults.push(`${view.name}: ${params.entry.text}`);
        if (method === 'Network.requestWillBeSent' && !/^(file|data|about):/.test(params.request.url)) {
          faults.push(`${view.name}: a request to ${params.request.url}`);
        }
      });
    });
    await Promise.all(['Page', 'Runtime', 'Log', 'Network'].map((domain) => page(`${domain}.enable`)));
    await page('Emulation.setDeviceMetricsOverride', {
      width: view.width, height: view.height, deviceScaleFactor: 1, mobile: view.mobile,
    });
    await page('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: view.scheme }] });
    await page('Page.navigate', { url: pathToFileURL(resolve(study, 'index.html')).href });
    await loaded;
    const { result } = await page('Runtime.evaluate', { expression: `(${inspect})()`, returnByValue: true });
    faults.push(...result.value.faults.map((fault) => `${view.name}: ${fault}`));
    if (view.name === 'desk') {
      const files = readdirSync(join(study, 'figures'));
      for (const id of result.value.figures) {
        for (const extension of ['svg', 'png']) {
          if (!files.includes(`${id}.${extension}`)) faults.push(`figures/${id}.${extension} is missing`);
        }
      }
      const pdf = await page('Page.printToPDF', { printBackground: false });
      writeFileSync(join(shots, 'print.pdf'), Buffer.from(pdf.data, 'base64'));
      console.log(`${result.value.figures.length} figures`);
    }
    const { cssContentSize } = await page('Page.getLayoutMetrics');
    // Chromium draws at most 16,384 pixels in one piece.
    for (let top = 0, part = 1; top < cssContentSize.height; top += 6000, part += 1) {
      const height = Math.min(6000, cssContentSize.height - top);
      const clip = { x: 0, y: top, width: view.width, height, scale: 1 };
      const shot = await page('Page.captureScreenshot', { clip, captureBeyondViewport: true });
      writeFileSync(join(shots, `${view.name}-${part}.png`), Buffer.from(shot.data, 'base64'));
    }
  }
} catch (error) {
  faults.push(error.message);
} finally {
  await send('Browser.close').catch(() => {});
  await new Promise((done) => { browser.once('exit', done); setTimeout(done, 3000); });
  rmSync(profile, { recursive: true, force: true });
}
faults.forEach((fault) => console.error(fault));
console.log(faults.length === 0 ? `no fault; screenshots in ${shots}` : `${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
